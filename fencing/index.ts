/**
 * The exports of `cloudfence/fencing`. Use them to run one machine or a sweep against your own cloud and clusters, or
 * to evaluate only the rules. Minor versions may add exports.
 */
export { decide } from './rules/decide.ts';
export * from './model/errors.ts';
export { defaultPolicy } from './model/policy.ts';
export { runAll, run } from './loop/run.ts';
export { sweep } from './sweep/sweep.ts';
export type * from './model/cloud.ts';
export type * from './model/cluster.ts';
export type * from './model/cluster-facts.ts';
export type * from './model/cloud.ts';
export type * from './model/machine.ts';
export type * from './model/outcome.ts';
export type * from './model/policy.ts';
export type * from './loop/ports.ts';
export type { LocationHint, SharedRunOptions } from './loop/run.ts';
export type * from './model/reason.ts';
export type * from './model/record.ts';
export type * from './model/steps.ts';
export type * from './rules/view.ts';
