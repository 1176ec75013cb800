//! Bugs IV to VII: a load balancer whose policy changes while packets are under way.

use super::{Spoiled, caught, exact, passes};
use tenuto_world::explore::classic::apps::LoadBalancer;
use tenuto_world::explore::classic::balanced::balanced;
use tenuto_world::explore::classic::{Order, Property, Reason, Setup, Traffic};

fn setup(duplicates: u8) -> (Setup, LoadBalancer) {
    let (setup, application) = balanced(1);
    let properties = vec![
        Property::NoForgottenPackets(Traffic::Tcp),
        Property::NoForgottenPackets(Traffic::Arp),
        Property::NoBlackHoles(Traffic::Tcp),
        Property::FlowAffinity,
    ];
    (Setup { duplicates, ..exact(setup, properties) }, application)
}

#[test]
fn a_balancer_without_bugs_passes() {
    for duplicates in [0, 1] {
        let (setup, application) = setup(duplicates);
        passes(&setup, application);
    }
}

#[test]
fn iv_packet_not_released_after_the_change() {
    let (setup, fixed) = setup(0);
    let buggy = Spoiled::new(fixed, |_, _, asked, answers| {
        for answer in &mut answers.list {
            if let Order::Add { buffer, .. } = &mut answer.order
                && asked.reason == Reason::Action
            {
                *buffer = None;
            }
        }
    });
    caught(&setup, buggy, Property::NoForgottenPackets(Traffic::Tcp));
}

#[test]
fn v_rules_deleted_before_their_successors_are_added() {
    let (setup, fixed) = setup(0);
    let ignores = Spoiled::new(fixed, |app: &mut LoadBalancer, _, asked, answers| {
        if app.has_changed() && asked.packet.is_tcp() && asked.reason == Reason::NoMatch {
            answers.list.clear();
        }
    });
    let buggy = Spoiled { spoil_callback: |_, answers| answers.list.reverse(), ..ignores };
    caught(&setup, buggy, Property::NoForgottenPackets(Traffic::Tcp));
}

#[test]
fn vi_question_forgotten_after_its_answer() {
    let (setup, fixed) = setup(0);
    let buggy = Spoiled::new(fixed, |_, _, asked, answers| {
        if asked.packet.is_arp() {
            answers.list.truncate(1);
        }
    });
    caught(&setup, buggy, Property::NoForgottenPackets(Traffic::Arp));
}

#[test]
fn vii_a_second_copy_of_a_syn_is_a_new_connection() {
    let (setup, fixed) = setup(1);
    let forgets = Spoiled::new(fixed, |_, _, _, _| {});
    let buggy =
        Spoiled { spoil_callback: |app: &mut LoadBalancer, _| app.forget_clients(), ..forgets };
    caught(&setup, buggy, Property::FlowAffinity);
}
