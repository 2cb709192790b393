//! Where clients connect: a Unix socket, or a TCP port.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use serde::Deserialize;

use crate::error::Error;

/// What to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listen {
    /// A socket that the server creates, for this user alone, and removes at the end.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Address and port; port zero takes a free one.
        address: SocketAddr,
        /// Whether other machines may reach it. The server has neither encryption nor authentication.
        allow_remote: bool,
    },
}

/// The listening socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix {
        listener: UnixListener,
        /// Removes the socket's file when it is dropped.
        _file: SocketFile,
    },
    Tcp(TcpListener),
}

/// A socket's file, removed at the end if it is still ours.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let metadata = std::fs::symlink_metadata(&self.path);
        if metadata.is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.inode) {
            // Ignore errors, since the next server removes a stale socket.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    pub(crate) fn bind(listen: &Listen) -> Result<Self, Error> {
        match listen {
            Listen::Unix(path) => unix(path),
            Listen::Tcp {
                address,
                allow_remote,
            } => tcp(*address, *allow_remote),
        }
    }

    /// Accepts the next client's socket, without blocking.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Listener::Unix { listener, .. } => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
        }
    }

    /// Returns the TCP address, whose port the kernel may have chosen.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Unix { .. } => None,
            Listener::Tcp(listener) => listener.local_addr().ok(),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix { listener, .. } => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

fn tcp(address: SocketAddr, allow_remote: bool) -> Result<Listener, Error> {
    if !address.ip().is_loopback() && !allow_remote {
        return Err(Error::NotLoopback { address });
    }
    let failed = |cause| Error::Listen {
        address: address.to_string(),
        cause,
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(Listener::Tcp(listener))
}

fn unix(path: &Path) -> Result<Listener, Error> {
    let failed = |cause| Error::Listen {
        address: path.display().to_string(),
        cause,
    };
    remove_stale_socket(path)?;
    let socket = socket_at(path).map_err(|cause| failed(cause.into()))?;
    let listener = UnixListener::from(socket);
    let metadata = std::fs::symlink_metadata(path).map_err(failed)?;
    let file = SocketFile {
        path: path.to_owned(),
        inode: (metadata.dev(), metadata.ino()),
    };
    Ok(Listener::Unix {
        listener,
        _file: file,
    })
}

/// Creates a listening socket whose file is private to this user from the start: Linux takes the file's mode from the
/// socket's.
fn socket_at(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

/// Removes a socket on which no server listens. Never removes anything else.
fn remove_stale_socket(path: &Path) -> Result<(), Error> {
    let name = || path.display().to_string();
    let failed = |cause| Error::Listen {
        address: name(),
        cause,
    };
    match std::fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(failed(cause)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(Error::NotASocket { path: name() });
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(failed)
        }
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Err(failed(cause)),
        _ => Err(Error::InUse { path: name() }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_socket_is_private_and_goes_with_its_server() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let listener = unix(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let refused = unix(&path).unwrap_err();
        assert!(matches!(refused, Error::InUse { .. }), "{refused}");
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_makes_way_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        // The standard library leaves the file behind.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = unix(&path).unwrap();
        // The socket of a later server must not be removed.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "dear").unwrap();
        drop(listener);
        let refused = unix(&path).unwrap_err();
        assert!(matches!(refused, Error::NotASocket { .. }), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"dear");
    }

    #[test]
    fn other_machines_may_connect_only_if_the_configuration_allows_it() {
        let address: SocketAddr = "0.0.0.0:0".parse().unwrap();
        assert!(matches!(
            tcp(address, false),
            Err(Error::NotLoopback { .. })
        ));
        assert!(tcp(address, true).is_ok());
        let loopback = tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
        assert_ne!(loopback.address().unwrap().port(), 0);
    }
}
