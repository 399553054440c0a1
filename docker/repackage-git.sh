# Makes a package of git without its servers, its programs for mail, and Perl: repackage-git.sh GIT.DEB NEW.DEB
set -eu
dpkg-deb --raw-extract "$1" git
sed -i -E '/^Depends:/s/, (perl|liberror-perl|git-man)( \([^)]*\))?//g' git/DEBIAN/control
if grep -E '^Depends:.*(perl|git-man)' git/DEBIAN/control; then exit 1; fi

(cd git/usr && rm -rf share/gitweb share/perl5 share/bash-completion bin/scalar bin/git-shell)
cd git/usr/lib/git-core
rm -f git-daemon git-http-backend git-http-fetch git-http-push git-imap-send git-instaweb git-shell scalar
grep -lE '^#! ?/usr/bin/(env )?perl' ./* 2>/dev/null | xargs -r rm
if cmp -s git ../../bin/git; then ln -sf ../../bin/git git; fi  # some versions have it twice
cd - >/dev/null
find git/usr -xtype l -lname '*/git-core/*' -delete

(cd git && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | sort | xargs md5sum >DEBIAN/md5sums)
dpkg-deb --build git "$2" >/dev/null
rm -r git
