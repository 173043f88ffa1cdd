//! The `stepfast` command.

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args.get(1).map_or(100_000, |s| s.parse().unwrap());
    let cap: usize = args.get(2).map_or(1000, |s| s.parse().unwrap());
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?.block_on(async {
        let _ = std::fs::remove_dir_all("/tmp/sf-bench");
        let mut local = stepfast::Local::open("/tmp/sf-bench/db".as_ref(), Default::default())?;
        let watch = engine::Stopwatch::start();
        for _ in 0..n / 1000 {
            local.engine.create((0..1000).map(|_| stepfast::NewStep::of("noop")).collect()).await?;
        }
        println!("insert {:.0}/s", n as f64 / watch.elapsed().as_secs_f64());
        let done = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let mut registry = stepfast::Registry::default();
        let d = done.clone();
        registry.job("noop", move |_: worker::Claim| { d.fetch_add(1, std::sync::atomic::Ordering::Relaxed); std::future::ready(worker::Outcome::Complete { response: None }) });
        let watch = engine::Stopwatch::start();
        local.run(registry, cap).await?;
        while done.load(std::sync::atomic::Ordering::Relaxed) < n { tokio::time::sleep(std::time::Duration::from_millis(1)).await; }
        println!("drain {:.0}/s", n as f64 / watch.elapsed().as_secs_f64());
        local.stop(std::time::Duration::from_secs(5)).await?;
        anyhow::Ok(())
    })
}
