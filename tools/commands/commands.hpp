// commands.hpp: the verbs. A file of this folder each.
#pragma once

#include "commands/verb.hpp"

namespace dmlref::tool {

AddVerb add_run;
AddVerb add_validate;
AddVerb add_compare;
AddVerb add_explain;
AddVerb add_kit;
AddVerb add_check_kit;
AddVerb add_info;
AddVerb add_import;

}  // namespace dmlref::tool
