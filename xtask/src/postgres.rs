//! A throw-away PostgreSQL on a free loopback port, for the tests that run on both databases.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Postgres {
    directory: tempfile::TempDir,
    binaries: PathBuf,
    options: String,
    pub url: String,
}

/// Whether it waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// As a server of users is.
    Full,
    /// What outlives its process, but not the machine: all that tests ask for, which never pull a plug, in a third less time.
    Process,
}

impl Postgres {
    pub fn start(durability: Durability) -> Result<Postgres> {
        let binaries = binaries().context("PostgreSQL is not installed")?;
        let directory = tempfile::tempdir().context("could not make a directory for PostgreSQL")?;
        // The server refuses to run as root, so its directory belongs to the user it runs as.
        shell::run(Command::new("chown").arg("postgres:").arg(directory.path()))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let unsynced = match durability {
            Durability::Full => "",
            Durability::Process => " -c fsync=off -c full_page_writes=off",
        };
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200{unsynced}"
        );
        let server = Postgres { directory, binaries, options, url };
        let data = server.data();
        shell::run(
            server
                .as_postgres("initdb")
                .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
                .arg(&data),
        )?;
        server.up()?;
        Ok(server)
    }

    fn up(&self) -> Result<()> {
        let log = self.directory.path().join("log");
        let mut command = self.as_postgres("pg_ctl");
        command.arg("-D").arg(self.data()).args(["-w", "-t", "30", "-l"]).arg(log);
        shell::run(command.args(["-o", self.options.as_str(), "start"]))
    }

    fn down(&self) -> Result<()> {
        let mut command = self.as_postgres("pg_ctl");
        shell::run(command.arg("-D").arg(self.data()).args(["-m", "immediate", "-w", "stop"]))
    }

    /// A new database, and its address.
    pub fn database(&self, name: &str) -> Result<String> {
        shell::run(self.as_postgres("createdb").arg(format!("--maintenance-db={}", self.url)).arg(name))?;
        let server =
            self.url.strip_suffix("/postgres").context("the address names the database `postgres`")?;
        Ok(format!("{server}/{name}"))
    }

    /// Die without a word, and come back.
    pub fn crash(&self) -> Result<()> {
        self.down()?;
        self.up()
    }

    /// Everything in it, as text, for whoever wants to know why a test failed.
    pub fn dump(&self, to: &Path) -> Result<()> {
        let file = std::fs::File::create(to).with_context(|| format!("could not create {}", to.display()))?;
        shell::run(self.as_postgres("pg_dump").arg(&self.url).stdout(file))
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn as_postgres(&self, program: &str) -> Command {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(self.binaries.join(program));
        // What it says is in its log; the terminal is for the tests.
        command.stdout(std::process::Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Err(problem) = self.down() {
            eprintln!("xtask: PostgreSQL was not stopped: {problem:#}");
        }
    }
}

/// Debian keeps each version's programs in a folder of its own; the newest is taken.
pub fn binaries() -> Result<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .context("there is no /usr/lib/postgresql")?
        .filter_map(|entry| entry.ok().map(|e| e.path().join("bin")))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    found.sort_by_key(|folder| version(folder));
    let newest = found.pop();
    ensure!(newest.is_some(), "no version in /usr/lib/postgresql has a server");
    Ok(newest.expect("it was just looked at"))
}

fn version(folder: &Path) -> u32 {
    let name = folder.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.and_then(|name| name.parse().ok()).unwrap_or(0)
}
