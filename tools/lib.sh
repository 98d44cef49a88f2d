# shellcheck shell=bash
# What the tools share: messages, steps with a progress line and a log, the cache folder, Debian
# packages, the MPICH source. Sourced, never run.
#
# Environment: TAMIO_CACHE (where builds and downloads are kept), TAMIO_JOBS (parallel compilations).

TAMIO_CACHE=${TAMIO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tamio}
TAMIO_JOBS=${TAMIO_JOBS:-$(nproc 2>/dev/null || echo 2)}
TAMIO_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TAMIO_SERIES='4.0 4.1 4.2 4.3 5.0 5.1'
tamio_child=

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# The comment block at the top of the calling script is its --help.
usage() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

# The value of an option, or an error that names it.
option_value() { # NAME COUNT VALUE
    [ "$2" -ge 2 ] && [ -n "$3" ] || die "option $1 needs a value (see --help)"
    printf '%s' "$3"
}

need_disk() { # DIR MEGABYTES
    local free
    mkdir -p "$1" 2>/dev/null || die "cannot create $1"
    free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$2" ] || die "$1 has $free MB free, $2 MB are needed"
}

# Stops what a step runs, when the tool itself is stopped.
end_child() {
    [ -n "$tamio_child" ] || return 0
    kill -TERM -- "-$tamio_child" 2>/dev/null
    wait "$tamio_child" 2>/dev/null
    tamio_child=
}
interrupted() { end_child; printf '\n' >&2; die "interrupted; the next run goes on from the last finished step"; }
trap interrupted INT TERM HUP
trap end_child EXIT

# How long a step took the last time here, or the guess that the caller has.
step_estimate() { # KEY GUESS
    cat "$TAMIO_CACHE/times/$1" 2>/dev/null || echo "$2"
}

show_progress() { # LABEL ELAPSED ESTIMATE
    if [ -t 1 ]; then
        printf '\r%s ... %d s of about %d s ' "$1" "$2" "$3"
    elif [ "$2" -gt 0 ] && [ $(($2 % 60)) -eq 0 ]; then
        say "$1: $2 s of about $3 s"
    fi
}

# Runs a command with its output in a log, and a progress line. If it fails: the step, the log's
# path and its last lines, and the tool ends.
run_step() { # KEY GUESS_SECONDS LABEL LOG COMMAND...
    local key=$1 estimate label=$3 log=$4 start=$SECONDS rc=0 tick=0
    estimate=$(step_estimate "$key" "$2")
    shift 4
    mkdir -p "$(dirname "$log")" "$TAMIO_CACHE/times"
    [ -t 1 ] || say "$label (about $estimate s)"
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    tamio_child=$!
    set +m
    while kill -0 "$tamio_child" 2>/dev/null; do
        sleep 0.2
        tick=$((tick + 1))
        [ $((tick % 5)) -ne 0 ] || show_progress "$label" $((SECONDS - start)) "$estimate"
    done
    wait "$tamio_child" || rc=$?
    tamio_child=
    if [ "$rc" -ne 0 ]; then
        [ ! -t 1 ] || printf '\n'
        printf '%s: step "%s" failed (exit %d); log: %s; its last lines:\n' "${0##*/}" "$label" "$rc" "$log" >&2
        tail -n 15 "$log" | sed 's/^/  | /' >&2
        exit 1
    fi
    [ ! -t 1 ] || printf '\r%s ... done in %d s%30s\n' "$label" $((SECONDS - start)) ''
    [ $((SECONDS - start)) -lt 2 ] || echo $((SECONDS - start)) >"$TAMIO_CACHE/times/$key"
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q && apt-get install -y -q --no-install-recommends "$@"
}

# Debian packages, installed only if missing.
ensure_packages() { # PACKAGE...
    local p missing=()
    for p in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "missing: ${missing[*]} (no apt-get here: install them by hand)"
    [ "$(id -u)" -eq 0 ] || die "missing packages: run as root: apt-get install ${missing[*]}"
    run_step packages 30 "installing ${missing[*]}" "$TAMIO_CACHE/logs/packages.log" install_packages "${missing[@]}"
}

# What another build has compiled is not compiled again, if ccache is there. Paths below the folder of a build are
# taken as relative, so that those of the same files in two builds are the same.
use_ccache() { # DIR
    [ -d /usr/lib/ccache ] || return 0
    export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=$TAMIO_CACHE/ccache CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
}

# A deb-src line for the repository that Debian's mpich comes from, as this system knows it.
source_line() {
    local uri suite keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=
    [ ! -r "$keyring" ] || signed="[signed-by=$keyring] "
    read -r uri suite < <(apt-cache policy mpich | awk '$1 ~ /^[0-9]+$/ && $2 ~ /:/ { print $2, $3; exit }')
    [ -n "$uri" ] || return 1
    printf 'deb-src %s%s %s %s\n' "$signed" "$uri" "${suite%%/*}" "${suite##*/}"
}

download_source() { # DIR
    local options=(-q -o "Dir::Etc::sourcelist=$1/apt/source.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$1/apt/lists" -o "Dir::Cache=$1/apt/cache" -o APT::Sandbox::User=root)
    mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
    [ -n "$(apt-cache policy mpich)" ] || apt-get update -q
    source_line >"$1/apt/source.list" || { echo "no repository here has mpich"; return 1; }
    apt-get "${options[@]}" update || return 1
    (cd "$1" && apt-get "${options[@]}" source --download-only mpich) || return 1
    rm -rf "$1/apt"
}

# Path of the tarball in Debian's mpich source package, fetched through an apt list of our own.
debian_tarball() {
    local dir=$TAMIO_CACHE/sources tarball
    tarball=$(compgen -G "$dir/mpich_*.orig.tar.*" | sort -V | tail -n 1)
    if [ -z "$tarball" ]; then
        ensure_packages dpkg-dev xz-utils >&2
        need_disk "$dir" 200
        rm -rf "$dir.part"
        mkdir -p "$dir.part"
        run_step source 5 "fetching the source of Debian's mpich" "$TAMIO_CACHE/logs/source.log" \
            download_source "$dir.part" >&2
        rm -rf "$dir"
        mv "$dir.part" "$dir"
        tarball=$(compgen -G "$dir/mpich_*.orig.tar.*" | sort -V | tail -n 1)
    fi
    [ -n "$tarball" ] || die "Debian's mpich source package has no orig tarball in $dir"
    printf '%s\n' "$tarball"
}

# X.Y.Z of an MPICH source tree, or nothing.
tree_version() { # DIR
    sed -n 's/.*\[MPICH_VERSION_m4\],\[\([0-9][^]]*\)\].*/\1/p' "$1/maint/version.m4" 2>/dev/null
}

# The series (4.0 ... 5.1) of a version, or nothing.
series_of() { # VERSION
    local s
    for s in $TAMIO_SERIES; do
        case $1 in "$s" | "$s".* | "$s"[a-z]*) printf '%s\n' "$s" ;; esac
    done
}

# The version of a tarball. Debian's says it in its name; others in maint/version.m4.
version_in_tarball() { # TARBALL
    local dir
    case $1 in *_*.orig.tar.*) basename "$1" | sed 's/^[^_]*_//;s/\.orig\.tar.*//'; return ;; esac
    dir=$(mktemp -d) || exit 1
    tar -xf "$1" -C "$dir" --wildcards --strip-components=1 '*/maint/version.m4' 2>/dev/null
    tree_version "$dir"
    rm -rf "$dir"
}

# Finds the MPICH source (Debian's if none is given); sets `origin` (a tree or a tarball), `version`
# and `series`.
find_source() { # DIR|TARBALL|''
    if [ -z "$1" ]; then
        origin=$(debian_tarball) || exit 1
    else
        origin=$(realpath -e "$1" 2>/dev/null) || die "--mpich-src $1: no such file or folder"
    fi
    if [ -d "$origin" ]; then
        version=$(tree_version "$origin")
    else
        version=$(version_in_tarball "$origin")
    fi
    [ -n "$version" ] || die "$origin is not an MPICH source tree or tarball (no maint/version.m4)"
    series=$(series_of "$version")
    [ -n "$series" ] || die "MPICH $version is not of a supported series ($TAMIO_SERIES)"
}

# Copies what differs and removes what is gone, so that times of unchanged files stay.
mirror_tree() { # FROM TO
    local f
    mkdir -p "$2"
    (cd "$1" && find . -type f \( -name '*.[ch]' -o -name '*.mk' \)) | while read -r f; do
        cmp -s "$1/$f" "$2/$f" || { mkdir -p "$(dirname "$2/$f")" && cp "$1/$f" "$2/$f"; }
    done
    (cd "$2" && find . -type f \( -name '*.[ch]' -o -name '*.mk' \)) | while read -r f; do
        [ -e "$1/$f" ] || rm -f "$2/$f"
    done
}

# Puts our drivers and the engine into a ROMIO tree (its registration is the patch's work).
copy_into_romio() { # ROMIO_DIR
    mirror_tree "$TAMIO_TOP/adio/ad_tam" "$1/adio/ad_tam"
    mirror_tree "$TAMIO_TOP/adio/ad_lustre_pipe" "$1/adio/ad_lustre_pipe"
    mirror_tree "$TAMIO_TOP/src" "$1/adio/tamio"
}

# A digest of everything of ours that ends up in ROMIO.
our_digest() { # SERIES
    (cd "$TAMIO_TOP" && find adio/ad_tam adio/ad_lustre_pipe src "patches/romio-$1.patch" -type f |
        LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)
}

# ---- libraries to preload into an MPI that is installed ----

# Which MPI the compiler is for, as a name for people and folders.
identify_mpi() { # MPICC
    local mpicc=$1 text
    command -v "${mpicc%% *}" >/dev/null || die "no such compiler: ${mpicc%% *} (give the MPI's with --mpicc)"
    text=$(printf '%s\n' '#include <mpi.h>' '#if defined(OPEN_MPI)' \
        'TAMIO openmpi OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION' \
        '#elif defined(MPICH_VERSION)' 'TAMIO mpich MPICH_VERSION' '#else' 'TAMIO mpi MPI_VERSION' '#endif' |
        $mpicc -E -P -x c - 2>/dev/null | sed -n 's/^TAMIO //p' | tr -d '" ' | sed 's/^[a-z]*/&-/')
    [ -n "$text" ] || die "$mpicc does not compile a program that includes mpi.h"
    printf '%s\n' "$text"
}

# Whether it links programs.
check_compiler() { # MPICC WORK_DIR
    printf '%s\n' '#include <mpi.h>' 'int main(void) { return MPI_Init(0, 0); }' >"$2/check.c"
    $1 -o "$2/check" "$2/check.c"
}

# A library that holds the MPI itself would be a second MPI in every program.
needs_mpi_library() { # LIBRARY MPICC
    readelf -d "$1" | grep -q 'NEEDED.*\[libp\?mpi' ||
        { echo "$2 links no shared MPI library: with a static MPI, preloading cannot work"; return 1; }
}
