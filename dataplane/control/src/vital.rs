//! Threads without which the process is useless. If nothing contains a panic of such a thread, the process ends, and
//! its supervisor starts another. Without a worker or its control thread, the process would look healthy and not be.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    thread::{Builder, JoinHandle},
};

use crate::log;

/// Runs `work` on a thread of this name.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let named = name.to_owned();
    Builder::new().name(named.clone()).spawn(move || {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            log::error(format!("{named}: uncontained panic; the process ends"));
            process::exit(1);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command, thread, time::Duration};

    const CHILD: &str = "WEIR_TEST_PANICS";
    const OUTLIVED_IT: i32 = 3;

    #[test]
    fn panic_of_a_thread_ends_the_process() {
        if env::var_os(CHILD).is_some() {
            let other = super::spawn("worker-7", || panic!("a defect, on purpose")).unwrap();
            let _ = other.join();
            thread::sleep(Duration::from_secs(1));
            std::process::exit(OUTLIVED_IT);
        }
        let this = ["--exact", "vital::tests::panic_of_a_thread_ends_the_process", "--nocapture"];
        let child = Command::new(env::current_exe().unwrap()).args(this).env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.code(), Some(1), "{said}");
        assert!(said.contains("worker-7: uncontained panic"), "{said}");
    }
}
