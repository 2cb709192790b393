#!/bin/sh
# Builds the guest: a small Debian with iogauge's package, as a root disk and a kernel, in the directory OUT.
#
#     tests/vm/image.sh UV OUT
#
# OUT/debian.tar has Debian's packages. It takes minutes and is made again only if the list below changes. OUT/root.img
# and OUT/vmlinuz are made of it and of this checkout; they take seconds. The kernel has NVMe and ext4 built in, so the
# guest boots without an initial ram disk.
set -eu

uv=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
release=trixie
packages=linux-image-cloud-amd64,python3,libstdc++6,kmod,udev,procps,util-linux,e2fsprogs,nvme-cli,fio,dmsetup,nbd-client
# The guest's Python is that of the release.
python=3.13

mkdir -p "$out"
key="$release $packages"
if [ "$(cat "$out/debian.key" 2>/dev/null)" != "$key" ]; then
    echo "guest: downloading Debian's packages (minutes, once)"
    mmdebstrap --quiet --variant=minbase --include="$packages" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$release" "$out/debian.tar"
    printf '%s' "$key" >"$out/debian.key"
fi

work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
tar -xf "$out/debian.tar" -C "$work/root"
cp "$work"/root/boot/vmlinuz-* "$out/vmlinuz"
rm -rf "$work"/root/boot/*

"$here/../../packaging/wheels.sh" "$uv" "$out/dist" x86_64
# A package that is installed at once is not compressed.
DEB_COMPRESSION=-Znone "$here/../../packaging/deb.sh" "$uv" "$out/dist" x86_64 "$python"
# Installed by dpkg as a user installs it; its script compiles the modules, which the guest would do twenty times slower.
cp "$out"/dist/iogauge_*_amd64.deb "$work/root/tmp/iogauge.deb"
chroot "$work/root" dpkg --install /tmp/iogauge.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; exit 1; }
rm "$work/root/tmp/iogauge.deb"
cp "$here/init" "$here/agent.py" "$work/root/"
chmod +x "$work/root/init"

# The kernel numbers NVMe drives in the order in which they answer. It finds its root by a partition's identity instead.
put() { # BYTE TEXT: text in the partition table
    printf "$2" | dd of="$out/root.img" bs=1 seek="$1" conv=notrunc status=none
}
rm -f "$out/root.img"
truncate -s 2049M "$out/root.img"
put 440 'ROOT'     # the disk's identity, ROOT in guest.py
put 450 '\203'     # a partition of Linux
put 455 '\010'     # from sector 2048
put 460 '\100'     # of 2 GiB
put 510 '\125\252' # the end of the table
mkfs.ext4 -q -F -O ^has_journal -E offset=1048576 -d "$work/root" "$out/root.img" 2G >/dev/null
