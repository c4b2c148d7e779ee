// Downloads a package with a compressed Chromium through npm, and unpacks what a headless start on a bare machine needs: the
// program, its libraries, and a font. Arguments: the package with its version, its integrity, and the folder to fill.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';

const [, , wanted, integrity, folder] = process.argv;
const work = mkdtempSync(path.join(tmpdir(), 'cloudfence-chromium-'));

const unpack = (name, to) =>
  pipeline(createReadStream(path.join(work, 'package/bin', name)), createBrotliDecompress(), createWriteStream(to));

const unpackFolder = async (name) => {
  const archive = path.join(work, `${name}.tar`);
  await unpack(`${name}.tar.br`, archive);
  execFileSync('tar', ['-xf', archive, '-C', folder]);
};

try {
  // The package is no part of this project, so no lock file of it counts.
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', wanted, '--json', '--silent'], { cwd: work, encoding: 'utf8' }),
  );
  const archive = path.join(work, filename);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== integrity) throw new Error(`${wanted} has the hash ${found}, and not ${integrity}`);
  execFileSync('tar', ['-xzf', archive, '-C', work]);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await Promise.all([
    unpack('chromium.br', path.join(folder, 'chromium')),
    unpackFolder('al2023'),
    unpackFolder('fonts'),
  ]);
  chmodSync(path.join(folder, 'chromium'), 0o755);
  writeFileSync(
    path.join(folder, 'fonts.conf'),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>\n`,
  );
} finally {
  rmSync(work, { recursive: true });
}
