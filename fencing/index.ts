/**
 * What `cloudfence/fencing` exports: run one machine or a sweep against a cloud and clusters of your own, or only ask what the
 * rules decide. Minor versions may add to it.
 */
export { decide } from './decide.ts';
export * from './errors.ts';
export { defaultPolicy } from './policy.ts';
export { react } from './react.ts';
export { run } from './run.ts';
export { sweep } from './sweep.ts';
export type * from './cloud.ts';
export type * from './cluster.ts';
export type * from './cluster-facts.ts';
export type * from './hint.ts';
export type * from './machine.ts';
export type * from './outcome.ts';
export type * from './policy.ts';
export type * from './ports.ts';
export type * from './react.ts';
export type * from './reason.ts';
export type * from './record.ts';
export type * from './steps.ts';
export type * from './view.ts';
