/* The words a configuration chooses among, in the order of the key table's spellings: what the ops, the model and the
 * configuration all speak of, without pulling one into the other. */
#ifndef TAPER_CORE_BASE_KINDS_H
#define TAPER_CORE_BASE_KINDS_H

enum norm_kind { NORM_RMS, NORM_LAYER };
enum pos_kind { POS_LEARNED, POS_ROPE };
enum rope_scaling { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3 };
enum mlp_kind { MLP_GELU, MLP_GELU_TANH, MLP_SWIGLU };
enum taper_sites { SITES_NONE, SITES_INTERNAL, SITES_ALL };
enum taper_method { METHOD_GATE, METHOD_FAKELN };
enum gate_shape { GATE_COSINE, GATE_LINEAR, GATE_STEP, GATE_CONSTANT };
enum gate_order { ORDER_TOGETHER, ORDER_SEQUENTIAL, ORDER_REVERSED };
enum lr_schedule { LR_COSINE, LR_LINEAR, LR_CONSTANT };
enum init_optimizer { OPTIMIZER_FRESH, OPTIMIZER_KEEP };
enum device_kind { DEVICE_CPU, DEVICE_CUDA };
enum precision_kind { PRECISION_AUTO, PRECISION_FP32, PRECISION_BF16 };

#endif
