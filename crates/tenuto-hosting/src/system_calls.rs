//! The filter of system calls: what no controller needs and what has broken sandboxes before.
//!
//! A list of what is denied, not of what is allowed: tenants bring any program, and one that fails in
//! an unknown place is a bad neighbour too. Everything here is also without effect for a user without
//! capabilities, or was once believed to be; the filter is the second wall.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// Answered with EPERM.
const DENIED: &[libc::c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    // Namespaces: further ones, and those of others.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Memory and threads of others.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_personality,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // Keys are not in a namespace.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Time and name of the machine.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Pages on nodes of memory that others use.
    libc::SYS_mbind,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_vhangup,
    // Ports of the processor.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

/// Kinds of sockets that there are; others are ways into drivers that nobody looks after.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// `CLONE_NEW...`.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Applies the filter to this process and all that it starts.
pub(crate) fn filter() -> io::Result<()> {
    for program in programs().map_err(io::Error::other)? {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The filters, the last first asked by the kernel; the strictest answer counts.
fn programs() -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![other_families()?]);
    rules.insert(libc::SYS_clone, new_namespaces()?);
    // TIOCSTI types into the terminal of whoever started us.
    let request = SeccompCondition::new(
        1,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(u32::try_from(libc::TIOCSTI).unwrap_or(0x5412)),
    )?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![request])?]);
    // Its flags are in memory, where a filter cannot look: programs then take clone.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let errno = |error: libc::c_int| SeccompAction::Errno(error.unsigned_abs());
    let mut programs = vec![compiled(clone3, errno(libc::ENOSYS))?];
    programs.push(compiled(rules, errno(libc::EPERM))?);
    #[cfg(target_arch = "x86_64")]
    programs.push(other_numbers());
    Ok(programs)
}

fn compiled(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    action: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, action, machine)?.try_into()
}

fn other_families() -> Result<SeccompRule, seccompiler::BackendError> {
    let differs = |family: libc::c_int| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    SeccompRule::new(FAMILIES.into_iter().map(differs).collect::<Result<_, _>>()?)
}

fn new_namespaces() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let has = |flag: libc::c_int| {
        let flag = u64::from(flag.unsigned_abs());
        let masked = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, masked, flag)?;
        SeccompRule::new(vec![condition])
    };
    NEW_NAMESPACES.into_iter().map(has).collect()
}

/// Calls by the numbers of x32, which mean the same calls and would pass the list by.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let errno = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let step = |code, jt, k| seccompiler::sock_filter { code, jt, jf: 0, k };
    vec![
        step(LOAD_NUMBER, 0, 0),
        step(JUMP_IF_GREATER_OR_EQUAL, 1, X32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, errno),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_no_call_is_named_twice() {
        let programs = programs().expect("they compile");
        assert!(programs.iter().all(|program| !program.is_empty()));
        let mut calls = DENIED.to_vec();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), DENIED.len());
    }
}
