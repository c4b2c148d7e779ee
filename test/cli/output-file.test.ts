import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolder } from '../../cli/output-file.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'cloudfence-output-'));
});

afterEach(() => rm(home, { recursive: true, force: true }));

describe('a folder for output', () => {
  it('is created with its parents, and may exist already', async () => {
    await Promise.all([createFolder(path.join(home, 'a/b/c')), createFolder(path.join(home, 'a/b/c'))]);
    await createFolder(path.join(home, 'a/b'));
    expect((await readdir(home, { recursive: true })).toSorted()).toEqual(['a', 'a/b', 'a/b/c']);
  });

  it('below a symbolic link to nothing fails, and the attempt ends', async () => {
    await symlink(path.join(home, 'nothing'), path.join(home, 'link'));
    await expect(createFolder(path.join(home, 'link/stages/more'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.runIf(process.platform === 'linux')(
    'in a file system without new folders fails, and the attempt ends',
    async () => {
      await expect(createFolder('/proc/none/stages')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );

  it('below a file fails', async () => {
    await writeFile(path.join(home, 'file'), '');
    await expect(createFolder(path.join(home, 'file/stages'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
