import { crc32, deflateRawSync } from 'node:zlib';

/** A file as it lies in a zip. */
export interface ZippedFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, as far as plain files need it. */
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** 1 January 1980, midnight: the same files give the same bytes, whenever they are zipped. */
const DATE = (1 << 5) | 1;
/** A plain file that everybody may read. */
const MODE = (0o100644 << 16) >>> 0;
const MADE_ON_UNIX = (3 << 8) | VERSION;

const shorts = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => Buffer.from(Uint16Array.of(value).buffer)));
const longs = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => Buffer.from(Uint32Array.of(value).buffer)));

const described = ({ name, bytes }: ZippedFile, packed: Buffer): Buffer =>
  Buffer.concat([shorts(VERSION, UTF8_NAMES, DEFLATED, 0, DATE), longs(crc32(bytes), packed.length, bytes.length), shorts(Buffer.byteLength(name), 0)]);

export const zipped = (files: readonly ZippedFile[]): Buffer => {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const entry of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const packed = deflateRawSync(entry.bytes, { level: 9 });
    const name = Buffer.from(entry.name);
    const header = described(entry, packed);
    const local = Buffer.concat([longs(0x04034b50), header, name, packed]);
    central.push(longs(0x02014b50), shorts(MADE_ON_UNIX), header, shorts(0, 0, 0), longs(MODE, at), name);
    locals.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(central);
  return Buffer.concat([...locals, directory, longs(0x06054b50), shorts(0, 0, files.length, files.length), longs(directory.length, at), shorts(0)]);
};
