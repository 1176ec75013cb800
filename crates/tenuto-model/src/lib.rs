//! Network, scenario, profiles, formats, importers and the plan.
