/** One file, because both read the same release. Meanwhile, the second release is built, with which it is compared. */
// oxlint-disable-next-line import/no-unassigned-import -- the import registers its tests
import './tarball.ts';
// oxlint-disable-next-line import/no-unassigned-import -- the import registers its tests
import './release.ts';
