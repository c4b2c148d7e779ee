import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { runAtHand } from '../entry-points/programs.ts';

const access = inject('testbed');

const printed = z.looseObject({
  'current-context': z.string(),
  clusters: z.tuple([z.looseObject({ cluster: z.looseObject({ server: z.string() }) })]),
  users: z.tuple([z.looseObject({ user: z.strictObject({ token: z.string().min(100) }) })]),
});

const made = async (...flags: readonly string[]) => {
  const { code, stdout, stderr } = await runAtHand(
    { ...access, kubeconfigs: { ...access.kubeconfigs, cloudfence: access.kubeconfigs.admin } },
    ['kubeconfig', ...flags],
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return { text: stdout, says: printed.parse(parse(stdout)) };
};

const inAFile = async <T>(text: string, use: (file: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-kubeconfig-'));
  try {
    const file = path.join(folder, 'kubeconfig');
    await writeFile(file, text, { mode: 0o600 });
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
};

describe('a kubeconfig for the service account', () => {
  it('is created from the shipped manifest and a person’s kubeconfig, and the doctor finds no fault', async () => {
    const { text, says } = await made('--name', 'prod');
    expect(says).toMatchObject({ 'current-context': 'prod', clusters: [{ cluster: { server: access.server } }] });
    const doctor = await inAFile(text, (cloudfence) =>
      runAtHand({ ...access, kubeconfigs: { ...access.kubeconfigs, cloudfence } }, [
        'doctor',
        '--context',
        'prod',
        '--json',
      ]),
    );
    const { checks } = z
      .object({ checks: z.array(z.object({ what: z.string(), verdict: z.string() })) })
      .parse(JSON.parse(doctor.stdout));
    expect(checks.filter(({ verdict, what }) => verdict !== 'ok' && what.includes(': may '))).toEqual([]);
    expect(checks).toContainEqual(expect.objectContaining({ what: 'prod: may patch nodes', verdict: 'ok' }));
  });

  it('is the same the second time, and contains the given server', async () => {
    const [first, second] = [await made(), await made('--server', 'https://api.internal:6443')];
    expect(second.says.users).toEqual(first.says.users);
    expect(second.says.clusters[0].cluster.server).toBe('https://api.internal:6443');
  });

  it('is denied to a user who may not create Secrets', async () => {
    const { code, stdout, stderr } = await runAtHand(access, ['kubeconfig']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/kube-system\/secrets/);
  });
});
