//! Tenants and the slices of the switch that they share: whether each finds its own.

use super::slices_file::{SliceFile, SlicesFile};
use super::tenants_file::{Tenant, TenantsFile};

/// What does not fit between tenants and slices, each in a sentence.
pub fn check_tenant_slices(tenants: &TenantsFile, slices: &SlicesFile) -> Vec<String> {
    let mut problems = Vec::new();
    for (place, tenant) in tenants.tenants.iter().enumerate() {
        let Some(name) = &tenant.slice else { continue };
        let mut before = tenants.tenants[..place].iter();
        if let Some(other) = before.find(|other| other.slice.as_ref() == Some(name)) {
            problems.push(format!(
                "tenants {} and {} have one slice, {name}: each controller needs its own",
                other.name, tenant.name
            ));
        }
        match slices.slices.iter().find(|slice| slice.name == *name) {
            None => problems.push(format!("tenant {}: no slice is called `{name}`", tenant.name)),
            Some(slice) => problems.extend(reaches(tenant, slice)),
        }
    }
    problems
}

/// What is wrong if no controller of the slice is at the tenant's address.
fn reaches(tenant: &Tenant, slice: &SliceFile) -> Option<String> {
    let nic = tenant.nic.as_ref()?;
    let is_its = |(text, _): &(String, u8)| {
        let at = text.split_once(':').map(|(_, at)| at);
        nic.control.iter().any(|port| at == Some(&format!("{}:{port}", nic.address)))
    };
    let is_reached = slice.controllers.is_empty() || slice.controllers.iter().any(is_its);
    (!is_reached).then(|| {
        format!(
            "tenant {}: slice {} has its controllers elsewhere, none is at {} and a port of `control`",
            tenant.name, slice.name, nic.address
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_slices, read_tenants};

    #[test]
    fn each_tenant_finds_its_own_slice() {
        let slices = "tenuto_slices: 1\nslices:\n  a: {datapath_id: 1, ports: [x], controllers: [\"tcp:10.9.1.2:6653\"]}\n  \
            b: {datapath_id: 2, ports: [y], controllers: [\"tcp:10.9.1.2:6653\"]}\n";
        let slices = read_slices(slices, "s", &|_, _| Ok(())).expect("good");
        let nic = |last| format!("address: 10.9.{last}.2/30, control: [6653]");
        let problems = |tenants: &str| {
            let text = format!("tenuto_tenants: 1\nslices: s\ntenants:\n{tenants}");
            let tenants = read_tenants(&text, "t", &|_, _| Ok(())).expect("good");
            check_tenant_slices(&tenants, &slices)
        };
        let one = |name: &str, slice: &str, last| {
            format!("  {name}: {{program: [/bin/c], slice: {slice}, {}}}\n", nic(last))
        };
        assert_eq!(problems(&one("x", "a", 1)), Vec::<String>::new());
        let told = problems(
            &[one("x", "a", 1), one("y", "b", 2), one("z", "a", 3), one("w", "c", 4)].concat(),
        );
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[0].starts_with("tenant y: slice b has its controllers elsewhere"), "{told:?}");
        assert!(told[1].starts_with("tenants x and z have one slice, a"), "{told:?}");
        assert!(told[3].contains("no slice is called `c`"), "{told:?}");
    }
}
