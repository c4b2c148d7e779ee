// Adds the missing platform packages to the lock file. Run it after `npm install`. Some npm mirrors contain only the
// packages of their own platform. npm then omits the others from the lock file, and `npm ci` rejects a lock file
// without them.
import { readFileSync, writeFileSync } from 'node:fs';

const systems = ['darwin', 'win32', 'linux', 'android', 'freebsd', 'openharmony', 'sunos', 'aix', 'netbsd', 'openbsd'];
const processors = ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el'];

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));

/** Returns the entry for a platform package, or null if its name contains no platform. */
const entryFor = (name, version, dev) => {
  const words = name.split(/[^a-z0-9]+/i);
  const os = words.find((word) => systems.includes(word));
  const cpu = words.find((word) => processors.includes(word));
  if (os === undefined || cpu === undefined || !/^\d/.test(version)) return null;
  return {
    version,
    cpu: [cpu],
    ...(dev ? { dev } : {}),
    optional: true,
    os: [os],
    ...(words.includes('musl') ? { libc: ['musl'] } : {}),
  };
};

const isLocked = (parent, name) =>
  [`${parent}/node_modules/${name}`, `node_modules/${name}`].some((at) => lock.packages[at]);

const added = Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !isLocked(parent, name))
    .map(([name, version]) => [`node_modules/${name}`, entryFor(name, version, dev)])
    .filter(([, entry]) => entry !== null),
);

const sorted = [...Object.entries(lock.packages), ...added].sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(sorted);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added.length} platform packages were added to the lock`);
