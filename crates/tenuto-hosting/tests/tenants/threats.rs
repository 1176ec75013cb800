//! Each line of the threat model in docs/design/0005-hosting.md that does not need a network.

use crate::stage::{Hosted, attacker, eventually, in_lab, script};
use tenuto_hosting::{Request, TenantState};

pub(crate) fn a_tenant_sees_only_itself() {
    in_lab("threats::a_tenant_sees_only_itself", || {
        let look = "echo user $(id -u) host $(cat /proc/sys/kernel/hostname); \
            for p in /proc/[0-9]*; do echo process $p; done; ls / | while read f; do echo root $f; done; \
            echo links $(grep -c : /proc/net/dev); echo names $(grep -c . /etc/passwd); \
            cat /etc/resolv.conf; echo groups $(cut -d: -f3 /proc/self/cgroup | sort -u | tr -d '\\\\n'); \
            echo done; sleep 10000";
        let tenants = script("blue", look, "") + &script("red", "exec sleep 10000", "");
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        let log = hosted.log_with("blue", "done");
        assert!(log.contains("user 1000 host blue"), "{log}");
        let processes = log.lines().filter(|line| line.starts_with("process ")).count();
        assert!((2..=4).contains(&processes), "the sandbox's first, and its own: {log}");
        for hidden in ["root root", "root home", "root var", "root srv", "root sys", "root mnt"] {
            assert!(!log.lines().any(|line| line == hidden), "{hidden}: {log}");
        }
        assert!(log.contains("links 1") && log.contains("names 1"), "{log}");
        assert!(log.contains("No name server") && log.contains("groups /\n"), "{log}");
    });
}

pub(crate) fn nothing_is_written_outside() {
    in_lab("threats::nothing_is_written_outside", || {
        let attempts = "for f in /x /usr/x /bin/x /etc/x /etc/passwd /dev/x /proc/sys/kernel/hostname \
            /lib/x; do if (echo x >> $f) 2>/dev/null; then echo WRITTEN $f; fi; done; \
            for f in /tmp/x /data/x /run/x /dev/shm/x; do echo x > $f && echo own $f; done; \
            mknod /tmp/disk b 8 0 2>/dev/null && echo DEVICE; \
            head -c 100000000 /dev/zero > /data/big 2>/dev/null || echo full; echo done; sleep 10000";
        let limits = ", memory: 40 MB";
        let hosted = Hosted::start(&script("blue", attempts, limits), &["blue"]);
        let log = hosted.log_with("blue", "done");
        assert!(!log.contains("WRITTEN") && !log.contains("DEVICE"), "{log}");
        assert_eq!(log.matches("own /").count(), 4, "{log}");
        assert!(log.contains("full"), "memory files are bounded: {log}");
        assert!(!std::path::Path::new("/data/x").exists() && !std::path::Path::new("/x").exists());
    });
}

pub(crate) fn rights_are_refused() {
    in_lab("threats::rights_are_refused", || {
        let hosted = Hosted::start(&attacker("blue", "rights", ""), &["blue"]);
        let log = hosted.log_with("blue", "all tried");
        assert!(!log.contains("GIVEN"), "{log}");
        assert!(log.matches("refused").count() >= 12, "{log}");
        // Perl makes any system call by its number; it is not everywhere.
        if !std::path::Path::new("/usr/bin/perl").exists() || cfg!(not(target_arch = "x86_64")) {
            return println!("SKIPPED ptrace: no perl here, or other numbers of calls");
        }
        let trace = "perl -e 'print syscall(101, 16, 1, 0, 0) < 0 ? q(refused) : q(GIVEN), qq(\\\\n)'; \
            perl -e 'print syscall(0x40000000 + 101, 16, 1, 0, 0) < 0 ? q(refused) : q(GIVEN), qq(\\\\n)'; \
            grep Seccomp: /proc/self/status; grep NoNewPrivs /proc/self/status; grep Cap /proc/self/status; \
            echo done; sleep 10000";
        drop(hosted);
        let hosted = Hosted::start(&script("red", trace, ""), &["red"]);
        let log = hosted.log_with("red", "done");
        assert_eq!((log.matches("refused").count(), log.contains("GIVEN")), (2, false), "{log}");
        assert!(log.contains("Seccomp:\t2") && log.contains("NoNewPrivs:\t1"), "{log}");
        let mut capabilities = log.lines().filter(|line| line.starts_with("Cap"));
        assert!(capabilities.all(|line| line.ends_with("0000000000000000")), "{log}");
    });
}

pub(crate) fn a_fork_bomb_ends_at_its_limit() {
    in_lab("threats::a_fork_bomb_ends_at_its_limit", || {
        let bomb = "while true; do (sleep 10000 & wait) & done";
        let tenants = script("blue", bomb, ", processes: 12, cores: 0.2")
            + &script("red", "exec sleep 10000", "");
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        let most = |blue: &tenuto_hosting::TenantStatus| blue.processes.unwrap_or(0);
        let refused = |blue: &tenuto_hosting::TenantStatus| {
            blue.process_refusals.unwrap_or(0) > 0 || most(blue) >= 12 || blue.pid.is_none()
        };
        let blue = hosted.until("blue", refused);
        assert!(most(&blue) <= 13, "{blue:?}");
        let red = hosted.tenant("red");
        assert_eq!((red.state, red.restarts), (TenantState::Running, 0));
        hosted.ask(&Request::Stop(Some("blue".into())));
        assert_eq!(hosted.tenant("blue").pid, None, "all of it is gone");
    });
}

pub(crate) fn a_memory_hog_is_killed_alone() {
    in_lab("threats::a_memory_hog_is_killed_alone", || {
        let tenants = attacker("blue", "eat", ", memory: 48 MB")
            + &script("red", "exec sleep 10000", ", memory: 48 MB");
        let hosted = Hosted::start(&tenants, &["red"]);
        let before = hosted.tenant("red");
        let blue = hosted.until("blue", |blue| blue.state == TenantState::Ended);
        let log = hosted.log("blue");
        let eaten = log.lines().filter(|line| line.ends_with(" MB")).count();
        assert!((1..48).contains(&eaten), "{eaten} MB of 48: {blue:?}");
        let after = hosted.tenant("red");
        assert_eq!((after.pid, after.state), (before.pid, TenantState::Running));
    });
}

pub(crate) fn a_huge_log_is_bounded() {
    in_lab("threats::a_huge_log_is_bounded", || {
        let tenants = script("blue", "exec yes a line that is written for ever", ", log: 100 kB");
        let hosted = Hosted::start(&tenants, &["blue"]);
        eventually(|| hosted.log("blue").len() >= 50_000);
        let kept = hosted.log("blue").len();
        assert!((50_000..=100_000).contains(&kept), "{kept} B");
        assert_eq!(hosted.tenant("blue").state, TenantState::Running, "the supervisor answers");
    });
}
