// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/accelerator/kernel_work.h"
#include "hw/accelerator/kernels/attention.h"
#include "hw/accelerator/kernels/convolution.h"
#include "hw/accelerator/kernels/eigen.h"
#include "hw/accelerator/kernels/elementwise.h"
#include "hw/accelerator/kernels/embedding.h"
#include "hw/accelerator/kernels/factorisation.h"
#include "hw/accelerator/kernels/gemm.h"
#include "hw/accelerator/kernels/normalisation.h"
#include "hw/accelerator/kernels/optimiser.h"

/// All kernels: each is a shape, and `kernel_work(config, shape)` says what it needs from an accelerator.
