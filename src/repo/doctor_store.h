// The half of doctor.h that looks at the store and its workspaces.
#pragma once

#include "repo/doctor.h"
#include "store/look.h"

namespace weft::repo {

void judge_store(const Context& context, bool probe, Diagnosis& diagnosis);

/// Of the control block, given what it says. Apart, so that tests can say it.
void judge_control(const store::ControlReport& report, Diagnosis& diagnosis);

}  // namespace weft::repo
