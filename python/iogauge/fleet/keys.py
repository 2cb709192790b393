"""Makes the certificates with which a fleet's controller and hosts know each other.

Dask runs whatever code it is sent, so whoever can connect to a host can do there what its user can. Beyond loopback
every connection is therefore TLS, and both ends must show a certificate of the fleet's own authority. A directory of
keys has ``ca.pem``, and ``NAME.pem`` and ``NAME-key.pem`` for ``controller`` and each host. A host needs ``ca.pem``
and its own two files; ``ca-key.pem``, which makes further certificates, stays with the controller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet.dask.needed import needed
from iogauge.library.options import StrPath, as_list
from iogauge.store.outputs import Claims, Existing
from iogauge.text.numbers import argument
from iogauge.text.option import either

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, Name

CONTROLLER = "controller"
AUTHORITY = "ca"
VALID_DAYS = 5 * 365
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def make_keys(directory: StrPath, names: Sequence[str] | str = ()) -> None:
    """Make a fleet's certificate authority, and certificates for its controller and its hosts.

    A directory that has an authority keeps it, and gets certificates for further hosts. Files are readable by their
    owner only; none is overwritten. Certificates are valid for five years.

    Args:
        directory: is created if it is missing.
        names: of the hosts, as the hosts file or Dask's workers name them.

    Raises:
        UsageError: a name cannot be a host's.
        IogaugeError: a file exists or cannot be written, the authority cannot be read, or ``cryptography`` is missing.
    """
    folder = Path(directory)
    hosts = list(dict.fromkeys(as_list(names)))
    for name in hosts:
        if not _NAME.fullmatch(name) or name in (CONTROLLER, AUTHORITY) or name.endswith("-key"):
            raise UsageError(
                f"{name!r} cannot be a host's name here",
                hint=f"use letters, digits, '.', '_' and '-'; {CONTROLLER!r} and {AUTHORITY!r} are taken",
            )
    needed("cryptography")
    authority = read_authority(folder)
    if authority is not None and not hosts:
        raise UsageError(
            f"{folder}: it has an authority and no host is named, so there is nothing to make",
            hint=f"name hosts that shall join the fleet: {making(folder, 'host3')}",
        )
    claims = Claims()
    is_new = not folder.exists()
    claims.make_directory(folder)
    if is_new:
        folder.chmod(0o700)
    contents: dict[str, bytes] = {}
    if authority is None:
        authority = _new_authority()
        hosts.insert(0, CONTROLLER)
        contents |= _files(AUTHORITY, *authority)
    for name in hosts:
        contents |= _files(name, *_signed(name, *authority))
    # Every file is claimed before the first is written: either all are made or none.
    outputs = {name: claims.file(folder / name, existing=Existing.KEEP) for name in contents}
    for name, content in contents.items():
        outputs[name].write(content, mode=0o600)


def making(directory: StrPath, *names: str) -> str:
    """Return the call, or the command, that makes certificates for these hosts.

    >>> making("keys", "db1", "db2")
    "iogauge.fleet.make_keys('keys', ['db1', 'db2'])"
    """
    hosts = "".join(f" --host {argument(name)}" for name in names)
    return either(
        command=f"iogauge fleet keys {argument(directory)}{hosts}",
        library=f"iogauge.fleet.make_keys({str(directory)!r}{f', {[*names]}' if names else ''})",
    )


def read_authority(folder: Path) -> tuple[Certificate, EllipticCurvePrivateKey] | None:
    """Return the certificate and the key of a directory's authority; None if there is none.

    Raises IogaugeError if one of the two is missing or cannot be read.
    """
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    certificate, key = folder / f"{AUTHORITY}.pem", folder / f"{AUTHORITY}-key.pem"
    if not certificate.exists() and not key.exists():
        return None
    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
        public = load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise IogaugeError(
            f"{folder}: its authority cannot be read: {error}",
            hint=f"{certificate.name} and {key.name} are both needed: restore them, or choose a new directory",
        ) from None
    if not isinstance(private, EllipticCurvePrivateKey):
        raise IogaugeError(f"{key}: is no key that iogauge made", hint="choose a new directory")
    return public, private


def key_files(directory: Path, name: str) -> tuple[Path, Path, Path]:
    """Return the paths of the authority's certificate, and of a host's certificate and key.

    Raises IogaugeError if one is missing.
    """
    files = (directory / f"{AUTHORITY}.pem", directory / f"{name}.pem", directory / f"{name}-key.pem")
    for path in files:
        if not path.is_file():
            names = [] if name == CONTROLLER else [name]
            raise IogaugeError(f"{path}: there is no such key", hint=f"make it: {making(directory, *names)}")
    return files


def _new_authority() -> tuple[Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("iogauge fleet")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _dated()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key


def _signed(
    name: str, authority: Certificate, authority_key: EllipticCurvePrivateKey
) -> tuple[Certificate, EllipticCurvePrivateKey]:
    """Return a new key and its certificate, good for both ends of a connection."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    issuer_key = authority_key.public_key()
    both = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    builder = (
        _dated()
        .subject_name(_named(name))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )
    return builder.sign(authority_key, hashes.SHA256()), key


def _dated() -> CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # a host's clock may be behind
        .not_valid_after(now + timedelta(days=VALID_DAYS))
    )


def _named(text: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _files(name: str, certificate: Certificate, key: EllipticCurvePrivateKey) -> dict[str, bytes]:
    """Return the files of a certificate and its key, by name."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {f"{name}.pem": certificate.public_bytes(Encoding.PEM), f"{name}-key.pem": private}
