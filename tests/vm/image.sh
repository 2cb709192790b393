#!/bin/sh
# Builds the guest: a small Debian with iogauge from its wheel, as a root disk and a kernel, in the directory OUT.
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
packages=linux-image-cloud-amd64,python3,kmod,udev,procps,util-linux,e2fsprogs,nvme-cli,fio,dmsetup,nbd-client
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

"$uv" build --quiet --wheel --out-dir "$work/wheel" "$here/../.."
"$uv" export --quiet --locked --no-dev --no-emit-project --directory "$here/../.." >"$work/requirements.txt"
"$uv" pip install --quiet --no-deps --python-version "$python" --python-platform x86_64-manylinux_2_40 \
    --target "$work/root/opt/iogauge" --requirements "$work/requirements.txt"
"$uv" pip install --quiet --no-deps --python-version "$python" --python-platform x86_64-manylinux_2_40 \
    --target "$work/root/opt/iogauge" "$work"/wheel/*.whl
# Compiled here, since each guest would compile all of it at its first command, twenty times slower.
chroot "$work/root" python3 -m compileall -q -j 2 /opt/iogauge
cp "$here/init" "$here/agent.py" "$work/root/"
chmod +x "$work/root/init"

rm -f "$out/root.img"
mkfs.ext4 -q -F -O ^has_journal -d "$work/root" "$out/root.img" 2G >/dev/null
