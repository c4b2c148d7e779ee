import { readFileSync } from 'node:fs';

const folder = new URL('../../fixtures/azure/', import.meta.url);

export const text = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

export const json = (name: string) => JSON.parse(text(name));

/** The resource of the derived samples, in lower case. */
export const SUBSCRIPTION = 'a1b2c3d4-0000-4000-8000-00000000aaaa';
const COMPUTE = `/subscriptions/${SUBSCRIPTION}/resourcegroups/mc_blue/providers/microsoft.compute`;
export const VM = `${COMPUTE}/virtualmachines/db-0`;
export const SET = `${COMPUTE}/virtualmachinescalesets/aks-pool-vmss`;
export const INSTANCE = `${SET}/virtualmachines/7`;
