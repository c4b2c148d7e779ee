/**
 * One file, because both look at the same release. The second release, with which it is compared, is made in the
 * meantime.
 */
// oxlint-disable-next-line import/no-unassigned-import -- the import registers its tests
import './tarball.ts';
// oxlint-disable-next-line import/no-unassigned-import -- the import registers its tests
import './release.ts';
