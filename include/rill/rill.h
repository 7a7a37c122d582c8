// Everything that links without a third party.
#pragma once

#include "rill/conversation.h"
#include "rill/detokenizer.h"
#include "rill/embedding.h"
#include "rill/generation.h"
#include "rill/kv_plan.h"
#include "rill/metrics.h"
#include "rill/model.h"
#include "rill/presets.h"
#include "rill/processors.h"
#include "rill/result.h"
#include "rill/sampler_chain.h"
#include "rill/sampling.h"
#include "rill/session.h"
#include "rill/stop_token.h"
#include "rill/thread_pool.h"
#include "rill/tokenizer.h"
