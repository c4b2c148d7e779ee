import { afterAll, beforeAll, describe } from 'vitest';
import { applyNodeCases } from './apply-node-cases.ts';
import { applyOtherCases } from './apply-other-cases.ts';
import { applySealCases } from './apply-seal-cases.ts';
import { findCases } from './find-cases.ts';
import { ledgerCases } from './ledger-cases.ts';
import { lookNodeCases } from './look-node-cases.ts';
import { lookVolumeCases } from './look-volume-cases.ts';
import { lookAfterCases } from './look-after-cases.ts';
import { suspectCases } from './suspect-cases.ts';
import type { ClusterHarness } from './harness.ts';
import { sweepCases } from './sweep-cases.ts';

/**
 * What every implementation of a cluster has to do, whatever its API server. The cases share the server, but never an
 * object.
 */
export const clusterContract = (
  kind: string,
  open: () => Promise<ClusterHarness & { readonly close: () => Promise<void> }>,
): void => {
  describe(`a cluster ${kind}`, () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());
    const harness = (): ClusterHarness => {
      if (!opened) throw new Error('the harness is not open yet');
      return opened;
    };
    describe('finding a Node', () => {
      findCases(harness);
    });
    describe('looking at a Node', () => {
      lookNodeCases(harness);
    });
    describe('looking at volumes', () => {
      lookVolumeCases(harness);
    });
    describe('looking for a machine whose Node is gone', () => {
      lookAfterCases(harness);
    });
    describe('writing to a Node', () => {
      applyNodeCases(harness);
    });
    describe('writing to a Node whose kubelet restores an earlier record', () => {
      applySealCases(harness);
    });
    describe('writing to pods and attachments', () => {
      applyOtherCases(harness);
    });
    describe('sweeping and reporting', () => {
      sweepCases(harness);
    });
    describe('counting fences', () => {
      ledgerCases(harness);
    });
    describe('finding suspects', () => {
      suspectCases(harness);
    });
  });
};
