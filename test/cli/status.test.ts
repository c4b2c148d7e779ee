import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FENCED_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { stateOf } from '../simulation/state.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { kubeconfigFor } from './live-cloud.ts';
import { runCli } from './run-cli.ts';

let sandbox: LiveSandbox;
beforeAll(async () => {
  sandbox = await openLiveSandbox(holderStopped);
});
afterAll(() => sandbox.close());

const cli = (...args: string[]) => runCli(args, sandbox);
const node = () => sandbox.scene.nodeOf(sandbox.scene.holder);

/** Ends the command as Ctrl-C does, once it has drawn this often. */
const interruptAfter = (times: number) => {
  const drawn: string[] = [];
  const draws = (text: string): void => {
    drawn.push(text);
    if (drawn.length === times) process.emit('SIGINT');
  };
  return { drawn, draws };
};

describe('status', () => {
  it('exits 0 without a fence', async () => {
    expect(await cli('status')).toMatchObject({ code: 0, stdout: expect.stringContaining('no Node is fenced') });
  });

  it('shows a fence, exits 3, and writes nothing', async () => {
    await cli('fence', node());
    const disks = (): string => stateOf(sandbox.world).disks.join('\n');
    await expect.poll(disks, { timeout: 15_000 }).not.toMatch(/nobody|attaching|detaching/);
    const before = stateOf(sandbox.world);
    const { code, stdout } = await cli('status', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      3,
      { clusters: [{ cluster: 'default', fences: [{ node: node(), phase: 'fenced' }] }], unreachable: [] },
    ]);
    expect(stateOf(sandbox.world)).toEqual(before);
  });

  it('--watch draws again on a terminal, and ends with Ctrl-C without an error', async () => {
    const { drawn, draws } = interruptAfter(3);
    const began = sandbox.world.now();
    const { code, stdout, stderr } = await runCli(['status', '--watch'], sandbox, { draws });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(drawn).toHaveLength(3);
    expect(drawn[2]).toContain(`\u001B[H\u001B[J`);
    expect(drawn[2]).toContain(`Node ${node()}`);
    expect(sandbox.world.now() - began).toBeGreaterThanOrEqual(10_000);
  });

  it('names a cluster that does not answer, exits 1, and still shows the others', async () => {
    const [config, silent] = [path.join(sandbox.folder, 'two.yaml'), path.join(sandbox.folder, 'silent')];
    await writeFile(silent, kubeconfigFor('https://127.0.0.1:9', 'no certificate'));
    await writeFile(
      config,
      JSON.stringify({
        clusters: [
          { name: 'main', kubeconfig: sandbox.kubeconfig },
          { name: 'dr', kubeconfig: silent },
        ],
      }),
    );
    const { code, stdout } = await cli('status', '--config', config);
    expect(code).toBe(1);
    expect(stdout).toMatch(/cluster main: fenced Nodes: 1\n/);
    expect(stdout).toMatch(/cluster dr: UNREACHABLE: .*ECONNREFUSED/);
  });

  it('exits 4 if a fence needs a person', async () => {
    const standing = sandbox.world.parts.cluster.objects.nodes[`/${node()}`];
    delete standing?.metadata.annotations?.[RECORD_ANNOTATION];
    expect(standing?.metadata.labels?.[FENCED_LABEL]).toBeDefined();
    expect(await cli('status')).toMatchObject({ code: 4, stdout: expect.stringContaining('record-lost') });
  });
});
