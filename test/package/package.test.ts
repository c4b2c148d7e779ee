/** One file, because both build into `dist/`: one has to be over when the other begins. */
// oxlint-disable-next-line import/no-unassigned-import -- its tests are what is wanted of it
import './tarball.ts';
// oxlint-disable-next-line import/no-unassigned-import -- its tests are what is wanted of it
import './release.ts';
