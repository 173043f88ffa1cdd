//! A real ActiveMQ on free loopback ports, from the package that `cargo xtask test` installs.

use super::process::{Process, free_port};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, interval};

const HOME: &str = "/usr/share/activemq";
/// A broker that does not answer by then never will.
const START_MAX: Duration = Duration::from_secs(60);
const USER: &str = "tester";
const PASSWORD: &str = "p:w/ä";

pub struct ActiveMqServer {
    directory: TempDir,
    port: u16,
    process: Process,
}

impl ActiveMqServer {
    pub async fn start() -> ActiveMqServer {
        assert!(Path::new(HOME).is_dir(), "ActiveMQ is not installed; `cargo xtask test` installs it");
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        for folder in ["conf", "data", "tmp"] {
            fs::create_dir(directory.path().join(folder)).expect("a directory can be made");
        }
        let server = ActiveMqServer { directory, port: free_port(), process: Process::none() };
        fs::write(server.configuration(), server.configuration_text()).expect("a file can be written");
        server.up().await;
        server
    }

    /// The address of a queue for the right user, with options.
    pub fn url(&self, queue: &str, options: &str) -> String {
        format!("stomp://{USER}:p%3Aw%2F%C3%A4@127.0.0.1:{}/{queue}?{options}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub async fn up(&self) {
        let base = self.directory.path();
        let log = fs::File::create(base.join("log")).expect("a file can be written");
        let own = |name: &str, value: &Path| format!("-D{name}={}", value.display());
        let mut java = Command::new("java");
        java.args(["-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg(own("java.io.tmpdir", &base.join("tmp")))
            .arg(own("activemq.home", Path::new(HOME)))
            .arg(own("activemq.base", base))
            .arg(own("activemq.conf", &base.join("conf")))
            .arg(own("activemq.data", &base.join("data")))
            .args(["-jar", &format!("{HOME}/bin/activemq.jar"), "start"])
            .arg(format!("xbean:file:{}", self.configuration().display()))
            .current_dir(base)
            .stdout(log.try_clone().expect("a file can be opened twice"))
            .stderr(log);
        self.process.spawn(&mut java);
        let started_at = Instant::now();
        let mut ticks = interval(Duration::from_millis(50));
        while self.talk("").is_err() {
            let log = || fs::read_to_string(base.join("log")).unwrap_or_default();
            if let Some(status) = self.process.ended() {
                panic!("ActiveMQ ended with {status}: {}", log());
            }
            assert!(started_at.elapsed() < START_MAX, "ActiveMQ does not answer: {}", log());
            ticks.tick().await;
        }
    }

    /// Die without a word.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// As another program would put it there.
    pub fn put(&self, queue: &str, body: &str) {
        let send = format!("SEND\ndestination:/queue/{queue}\npersistent:true\nreceipt:sent\n\n{body}\0");
        self.talk(&send).expect("a running broker takes a message");
    }

    /// Connect, say this, and hear that all was taken.
    fn talk(&self, frames: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let connect = format!("CONNECT\naccept-version:1.2\nhost:t\nlogin:{USER}\npasscode:{PASSWORD}\n\n\0");
        let goodbye = "DISCONNECT\nreceipt:goodbye\n\n\0";
        stream.write_all(format!("{connect}{frames}{goodbye}").as_bytes())?;
        let mut heard = Vec::new();
        let mut part = [0; 4096];
        while !String::from_utf8_lossy(&heard).contains("receipt-id:goodbye") {
            match stream.read(&mut part)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                n => heard.extend_from_slice(&part[..n]),
            }
        }
        Ok(())
    }

    fn configuration(&self) -> std::path::PathBuf {
        self.directory.path().join("conf/activemq.xml")
    }

    fn configuration_text(&self) -> String {
        let (port, data) = (self.port, self.directory.path().join("data"));
        let data = data.display();
        format!(
            r#"<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans-2.0.xsd http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
 <broker xmlns="http://activemq.apache.org/schema/core" brokerName="t" dataDirectory="{data}" useJmx="false" persistent="true" advisorySupport="false">
  <persistenceAdapter><kahaDB directory="{data}/kahadb"/></persistenceAdapter>
  <plugins><simpleAuthenticationPlugin anonymousAccessAllowed="false"><users>
   <authenticationUser username="{USER}" password="{PASSWORD}" groups="users"/>
  </users></simpleAuthenticationPlugin></plugins>
  <transportConnectors><transportConnector name="stomp" uri="stomp+nio://127.0.0.1:{port}"/></transportConnectors>
 </broker></beans>
"#
        )
    }
}
