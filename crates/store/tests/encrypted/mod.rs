//! A server with a certificate, and what each `sslmode` makes of it.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use stepfast_store::postgres::PostgresStore;
use stepfast_store::{Store, StoreError};

/// A certificate and its key, as files hold them.
struct Papers {
    certificate: String,
    key: String,
}

fn authority() -> (CertificateParams, KeyPair) {
    let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params, KeyPair::generate().unwrap())
}

/// The authority's own certificate, which is its own server too, as `openssl req -x509` makes it.
fn own(params: &CertificateParams, key: &KeyPair) -> Papers {
    Papers { certificate: params.self_signed(key).unwrap().pem(), key: key.serialize_pem() }
}

/// For the name `localhost`, and no number.
fn signed(params: CertificateParams, by: KeyPair) -> Papers {
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".into()]).unwrap();
    let certificate = leaf.signed_by(&key, &Issuer::new(params, by)).unwrap();
    Papers { certificate: certificate.pem(), key: key.serialize_pem() }
}

struct Server {
    directory: tempfile::TempDir,
    binaries: PathBuf,
    port: u16,
}

impl Server {
    fn start(papers: &Papers) -> Server {
        let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
            .unwrap()
            .map(|entry| entry.unwrap().path().join("bin"))
            .filter(|folder| folder.join("initdb").is_file())
            .collect();
        found.sort();
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server { directory, binaries: found.pop().expect("PostgreSQL is installed"), port };
        run(Command::new("chown").arg("postgres:").arg(server.directory.path()));
        let data = server.data();
        let mut initdb = server.as_postgres("initdb");
        run(initdb.args(["-U", "postgres", "-A", "trust", "--no-sync", "-D"]).arg(&data));
        server.show(papers);
        let options =
            format!("-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c ssl=on");
        server.control(&["-l", data.join("log").to_str().unwrap(), "-o", &options, "start"]);
        server
    }
    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
    fn as_postgres(&self, program: &str) -> Command {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(self.binaries.join(program)).stdout(Stdio::null());
        command
    }
    fn control(&self, arguments: &[&str]) {
        let mut command = self.as_postgres("pg_ctl");
        run(command.arg("-D").arg(self.data()).args(["-w", "-m", "immediate"]).args(arguments));
    }
    /// The papers it shows when it is started.
    fn show(&self, papers: &Papers) {
        for (name, text) in [("server.crt", &papers.certificate), ("server.key", &papers.key)] {
            let path = self.data().join(name);
            std::fs::write(&path, text).unwrap();
            run(Command::new("chown").arg("postgres:").arg(&path));
            run(Command::new("chmod").arg("600").arg(&path));
        }
    }
    /// Whether the connection is encrypted, or why there is none.
    fn call(&self, host: &str, query: &str) -> Result<bool, StoreError> {
        let url = format!("postgres://postgres@{host}:{}/postgres{query}", self.port);
        encrypted(&url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.control(&["stop"]);
    }
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn encrypted(url: &str) -> Result<bool, StoreError> {
    let store = PostgresStore::open(url, None)?;
    store.reader().value("select ssl from pg_stat_ssl where pid = pg_backend_pid()", &[])
}

/// The address asks that a server be trusted by this certificate.
fn by(folder: &Path, name: &str, certificate: &str, mode: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, certificate).unwrap();
    format!("?sslmode={mode}&sslrootcert={}", path.display().to_string().replace('/', "%2F"))
}

fn is_refused(told: Result<bool, StoreError>, words: &str) {
    match told {
        Err(StoreError::Refused(why)) => assert!(why.contains(words), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_is_trusted_as_the_address_asks() {
    let folder = tempfile::tempdir().unwrap();
    let by = |name: &str, certificate: &str, mode: &str| by(folder.path(), name, certificate, mode);
    let (params, key) = authority();
    let root = own(&params, &key);
    let (other, other_key) = authority();
    let stranger = own(&other, &other_key).certificate;
    let server = Server::start(&signed(params, key));
    assert_eq!(server.call("127.0.0.1", ""), Ok(true), "prefer is the default");
    assert_eq!(server.call("127.0.0.1", "?sslmode=prefer"), Ok(true));
    assert_eq!(server.call("127.0.0.1", "?sslmode=disable"), Ok(false));
    assert_eq!(server.call("127.0.0.1", "?sslmode=require"), Ok(true));
    assert_eq!(server.call("127.0.0.1", &by("root", &root.certificate, "verify-ca")), Ok(true));
    assert_eq!(server.call("localhost", &by("root", &root.certificate, "verify-full")), Ok(true));
    is_refused(
        server.call("127.0.0.1", &by("root", &root.certificate, "verify-full")),
        "with sslmode=verify-full the server is not trusted: invalid peer certificate: certificate not valid for name",
    );
    for mode in ["require", "verify-ca", "verify-full"] {
        is_refused(server.call("localhost", &by("stranger", &stranger, mode)), "the server is not trusted");
    }
    server.show(&root);
    server.control(&["restart"]);
    assert_eq!(server.call("localhost", &by("root", &root.certificate, "verify-full")), Ok(true));
    assert_eq!(server.call("127.0.0.1", &by("root", &root.certificate, "verify-ca")), Ok(true));
    is_refused(server.call("127.0.0.1", &by("root", &root.certificate, "verify-full")), "not valid for name");
    is_refused(server.call("localhost", &by("stranger", &stranger, "verify-ca")), "not trusted");
}

#[test]
fn a_server_without_tls_is_refused_when_it_is_asked_for() {
    let scratch = crate::scratch("plain");
    let mode = |mode: &str| encrypted(&format!("{}?sslmode={mode}", scratch.url));
    is_refused(
        mode("require"),
        "the server does not offer TLS, and the address asks for it with sslmode=require",
    );
    assert_eq!((mode("prefer"), mode("disable")), (Ok(false), Ok(false)));
}
