#!/usr/bin/env bash
# Runs a command with WEFT_BENCH_DIR on an ordinary, journaled ext4 in a loop file, and unmounts it afterwards.
#
#   bench/loop_ext4.sh [--size GIB] COMMAND [ARGS...]
#
# There a growing file costs two flushes (data and journal); the root file systems of small virtual machines often have no
# journal and hide that. Needs root and a loop device. The image lies in a directory made by mktemp below $WEFT_BENCH_DIR
# (default /var/tmp); that directory is all this script ever deletes.
set -euo pipefail

size_gib=8
if [ "${1:-}" = --size ]; then
    size_gib=$2
    shift 2
fi
if [ $# -eq 0 ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
fi

parent=${WEFT_BENCH_DIR:-/var/tmp}
scratch=$(mktemp -d "$parent/weft-loop-XXXXXXXX")
case $scratch in
    /*/weft-loop-????????) ;;
    *)
        echo "loop_ext4: refusing to work in '$scratch'" >&2
        exit 1
        ;;
esac

mounted=
device=
cleanup() {
    if [ -n "$mounted" ]; then
        umount "$scratch/mount" || {
            echo "loop_ext4: $scratch/mount is still mounted; left alone" >&2
            return
        }
    fi
    [ -z "$device" ] || losetup -d "$device"
    rm -f -- "$scratch/image"
    rmdir -- "$scratch/mount" "$scratch"
}
trap cleanup EXIT

mkdir "$scratch/mount"
# Written, not sparse: a hole in the image would cost the host's allocation inside somebody's flush.
fallocate -l "${size_gib}G" "$scratch/image"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$scratch/image"
# Past the host's page cache where it can be: what is measured would otherwise be in memory twice.
device=$(losetup --find --show --direct-io=on "$scratch/image" 2>/dev/null || losetup --find --show "$scratch/image")
mount -o noatime "$device" "$scratch/mount"
mounted=yes
# Nothing in it needs deleting one by one: it goes away as a whole.
WEFT_BENCH_DIR="$scratch/mount" WEFT_BENCH_DISPOSABLE=1 "$@"
