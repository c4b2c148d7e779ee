// Explains in one sentence an error that would otherwise be unclear: an older Node can neither run TypeScript files
// directly nor load the Kubernetes client.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Cloudfence needs Node 22.18 or newer (this is ${process.versions.node}); on Linux x64 Node 20 will do, a newer one comes with the packages.`,
  );
  process.exitCode = 1;
}
