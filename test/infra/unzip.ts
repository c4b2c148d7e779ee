import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inflateRawSync } from 'node:zlib';

/** Where a central directory entry and a local header say what; https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const DEFLATED = 8;

interface Packed {
  readonly name: string;
  readonly text: Buffer;
}

const entryAt = (zip: Buffer, at: number): Packed & { readonly next: number } => {
  if (zip.readUInt32LE(at) !== ENTRY) throw new Error('this is no zip');
  const [method, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
  const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)];
  const local = zip.readUInt32LE(at + 42);
  const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const bytes = zip.subarray(begin, begin + size);
  return { name: zip.toString('utf8', at + 46, at + 46 + name), text: method === DEFLATED ? inflateRawSync(bytes) : bytes, next: at + 46 + name + extra + comment };
};

const entriesOf = (zip: Buffer): readonly Packed[] => {
  const end = zip.lastIndexOf(Buffer.from(new Uint32Array([END]).buffer));
  const count = zip.readUInt16LE(end + 10);
  const entries: Packed[] = [];
  for (let at = zip.readUInt32LE(end + 16); entries.length < count; ) {
    const { next, ...entry } = entryAt(zip, at);
    entries.push(entry);
    at = next;
  }
  return entries;
};

/** Unpacks a zip as Lambda does, and tells the names in it. */
export const unzip = async (file: string, into: string): Promise<readonly string[]> => {
  const entries = entriesOf(await readFile(file));
  for (const { name, text } of entries) {
    await mkdir(path.dirname(path.join(into, name)), { recursive: true });
    await writeFile(path.join(into, name), text);
  }
  return entries.map(({ name }) => name);
};
