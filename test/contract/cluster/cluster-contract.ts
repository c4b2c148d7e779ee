import { afterAll, beforeAll, describe } from 'vitest';
import { applyNodeCases } from './apply-node-cases.ts';
import { applyOtherCases } from './apply-other-cases.ts';
import { findCases } from './find-cases.ts';
import { ledgerCases } from './ledger-cases.ts';
import { lookNodeCases } from './look-node-cases.ts';
import { lookVolumeCases } from './look-volume-cases.ts';
import { lookAfterCases } from './look-after-cases.ts';
import { suspectCases } from './suspect-cases.ts';
import type { Stage } from './stage.ts';
import { sweepCases } from './sweep-cases.ts';

/**
 * What every cluster behind the interface has to do, whatever API server stands behind it. Cases share the server,
 * never an object.
 */
export const clusterContract = (
  kind: string,
  open: () => Promise<Stage & { readonly close: () => Promise<void> }>,
): void => {
  describe(`a cluster ${kind}`, () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());
    const stage = (): Stage => {
      if (!opened) throw new Error('the stage is not open yet');
      return opened;
    };
    describe('finding', () => {
      findCases(stage);
    });
    describe('looking at a Node', () => {
      lookNodeCases(stage);
    });
    describe('looking at volumes', () => {
      lookVolumeCases(stage);
    });
    describe('looking for a machine whose Node is gone', () => {
      lookAfterCases(stage);
    });
    describe('writing to a Node', () => {
      applyNodeCases(stage);
    });
    describe('writing to pods and attachments', () => {
      applyOtherCases(stage);
    });
    describe('sweeping and telling', () => {
      sweepCases(stage);
    });
    describe('counting fences', () => {
      ledgerCases(stage);
    });
    describe('suspecting', () => {
      suspectCases(stage);
    });
  });
};
