import { expect, test } from 'vitest';
import { secondNodePlanFor, takenOverPlanFor } from './newest-plan.ts';
import { attacherPlanFor, partedPlanFor, plainPlanFor, tamperedPlanFor, watchedPlanFor, type Plan } from './plan.ts';
import { failureOf } from './shrink.ts';
import { play } from './simulation.ts';

/** Schedules that broke something before the code was fixed. */

/** Seed 616, shortened: a fenced machine is started while its kubelet is cut off, and then EC2 does not know it. */
const unknownAfterReturn: Plan = {
  ...plainPlanFor(616),
  clouds: ['aws', 'aws', 'aws'],
  mayHibernate: [false, false, false],
  databases: 3,
  happenings: [
    { at: 298_000, do: 'cut-off', machine: 0 },
    { at: 331_000, do: 'stop', machine: 0, byGuest: false, takes: 500 },
    { at: 348_000, do: 'start', machine: 0 },
  ],
  faultPeriods: [{ fault: 'not-found', service: 'cloud', from: 540_000, until: 660_000, share: 1 }],
  until: 660_000,
};

test('the Node of a machine that its cloud knows stays', async () => {
  expect(failureOf(await play({ ...unknownAfterReturn, faultPeriods: [] }))).toBeNull();
});

// The disks that its own fence freed are no witnesses.
test('the Node of a machine that came back stays, although EC2 does not know the machine for two minutes', async () => {
  expect(failureOf(await play(unknownAfterReturn))).toBeNull();
});

// A look that the deadline of the run aborts is not a bug of Cloudfence: the run ends as if it had got no answer.
test.each([9_500_014, 9_702_352])('the end of a run during a look is not reported as a bug (seed %i)', async (seed) => {
  expect(failureOf(await play(plainPlanFor(seed)))).toBeNull();
});

// A disk that Kubernetes has not detached is a witness although a fence has begun: a machine that is deleted on Azure
// or Google Cloud in the middle of its fence, or soon after its return, is fenced to the end.
test.each([7_008_425, 7_010_523, 7_015_219, 7_016_473, 9_700_742])(
  'a machine that is deleted during or after its fence is fenced (seed %i)',
  async (seed) => {
    expect(failureOf(await play(plainPlanFor(seed)))).toBeNull();
  },
);

// The attachment of an earlier Node with that name says nothing about the machine. A person deletes the Node.
test('a machine under a reused name is fenced after a person has looked (seed 9701849)', async () => {
  expect(failureOf(await play(plainPlanFor(9_701_849)))).toBeNull();
});

// A person removed our taint in one boot. The machine was started, and terminated in the next boot.
test('a taint that a person removed in an earlier boot does not stop a later fence (seed 300625821)', async () => {
  expect(failureOf(await play(watchedPlanFor(300_625_821)))).toBeNull();
});

// Nothing confirms any more that the machine is gone, and a person has bound a pod to its Node. Then a person deletes
// the Node.
test('a pod that comes to the Node of a forgotten machine waits for a person (seed 300554578)', async () => {
  expect(failureOf(await play(watchedPlanFor(300_554_578)))).toBeNull();
});

// Nothing saw that the machine was started and stopped, or the cloud falsely did not know it at the mark. Then a person
// opted the Node out.
test.each([300_305_110, 300_958_949])('our taint does not stay on an opted-out Node (seed %i)', async (seed) => {
  expect(failureOf(await play(watchedPlanFor(seed)))).toBeNull();
});

// A person ended a fence with `release --accept` while the cloud falsely did not know the machine, which ran again.
test.each([300_624_517, 300_825_400])(
  'a tombstone is removed when the cloud knows the machine again (seed %i)',
  async (seed) => {
    expect(failureOf(await play(watchedPlanFor(seed)))).toBeNull();
  },
);

// A function was frozen for 50 s while it read the cluster. In that time, a person opted the Node out.
test('a Node that was opted out while a function was frozen is not fenced (seed 700816657)', async () => {
  expect(failureOf(await play(watchedPlanFor(700_816_657)))).toBeNull();
});

// A process was killed before it learned that the cap had admitted its fence.
test('a fence counts from its entry in the ledger (seed 20000006)', async () => {
  expect(failureOf(await play(plainPlanFor(20_000_006)))).toBeNull();
});

// An opt-out concerns one Node, and not the next Node with that name.
test('the next Node with a name is not opted out (seed 9703217)', async () => {
  expect(failureOf(await play(plainPlanFor(9_703_217)))).toBeNull();
});

// Someone sets an out-of-service taint after a person has removed ours: the fence continues.
test('a removal counts until somebody sets an out-of-service taint again (seed 30033506)', async () => {
  expect(failureOf(await play(plainPlanFor(30_033_506)))).toBeNull();
});

// The machine was hibernated before its kubelet had posted its boot. The kubelet posts it when the machine runs again.
test('the kubelet of a guest that resumes posts its boot (seed 30052294)', async () => {
  expect(failureOf(await play(plainPlanFor(30_052_294)))).toBeNull();
});

// A person removes the taint of an earlier boot. The machine has been started and stopped since.
test('a removal counts for the boot that the record names (seed 30120800)', async () => {
  expect(failureOf(await play(plainPlanFor(30_120_800)))).toBeNull();
});

// The clock of the machine is more than a minute late. Each run ended before its kubelet renewed the Lease again.
test('a machine with a wrong clock is released (seed 72000080)', async () => {
  expect(failureOf(await play(watchedPlanFor(72_000_080)))).toBeNull();
});

// A person removed the taint in the second in which Cloudfence removed it, and then a pod was bound to the Node.
test('a removal counts although the fence ends at that moment (seed 80051197)', async () => {
  expect(failureOf(await play(watchedPlanFor(80_051_197)))).toBeNull();
});

// A person removed our taint, the cloud forgot the machine, and another person ended the fence with `release --accept`.
// Before that command had ended, a sweep marked the Node again.
test('a fence that a person is releasing does not begin again (seed 110062515)', async () => {
  expect(failureOf(await play(watchedPlanFor(110_062_515)))).toBeNull();
});

// A kubelet removed the record, and a person's `release --accept` ended before it had removed the quarantine.
test('a release of a lost record is ended by later runs if the command dies (seed 900132562)', async () => {
  expect(failureOf(await play(tamperedPlanFor(900_132_562)))).toBeNull();
});

// A person removed a fence, another run began the next one, and a kubelet removed its record. The first run took that
// for the removal of its own fence.
test('the record of a later fence that a kubelet removes ends no fence (seed 910083915)', async () => {
  expect(failureOf(await play(tamperedPlanFor(910_083_915)))).toBeNull();
});

// A person removed a taint and a kubelet the record, right before a second mark was written. The mark continued the
// fence.
test.each([940_013_411, 940_131_077, 940_167_786, 950_009_418, 960_013_105, 980_112_437])(
  'a mark does not restore what a person has removed since the read (seed %i)',
  async (seed) => {
    expect(failureOf(await play(partedPlanFor(seed)))).toBeNull();
  },
);

// A person removed only the label of a fence. Either the cloud did not know the machine, or a kubelet removed or
// changed the record.
test.each([960_002_945, 960_004_980, 960_011_497, 960_017_999])(
  'our taint does not stay because a person removed the label of the fence (seed %i)',
  async (seed) => {
    expect(failureOf(await play(partedPlanFor(seed)))).toBeNull();
  },
);

// A person ended a fence with `release --accept`, and the machine was started or stopped before that command had ended,
// or already stopped again when it began.
test.each([940_093_528, 940_161_454, 950_030_056, 1_000_173_025])(
  'a person’s statement is not about a later boot (seed %i)',
  async (seed) => {
    expect(failureOf(await play(partedPlanFor(seed)))).toBeNull();
  },
);

// Another Node of the zone was fenced, and its machine had come back, so its kubelet renewed its Lease.
test('a fenced Node that is not silent shows that its zone works (seed 1000109675)', async () => {
  expect(failureOf(await play(partedPlanFor(1_000_109_675)))).toBeNull();
});

// The kubelet reached the API server again while the power-off was on its way to the cloud.
test('a kubelet may return after the last read before a power-off (seed 570950)', async () => {
  expect(failureOf(await play(partedPlanFor(570_950)))).toBeNull();
});

// Azure detaches all disks of a machine in one call. The simulation let the permits end before that call began.
test('two disks leave an Azure VM without the CSI attacher (seed 650197)', async () => {
  expect(failureOf(await play(attacherPlanFor(650_197)))).toBeNull();
});

// A fence that only waited for the CSI attacher kept the only place under the cap.
test('a fence that waits for the attacher does not prevent another one (seed 1020021054)', async () => {
  expect(failureOf(await play(attacherPlanFor(1_020_021_054)))).toBeNull();
});

// A person removed the quarantine, and a kubelet changed the record. The machine ran before it stopped again.
test.each([1_040_008_516])('a label that a person left does not apply to the next stop (seed %i)', async (seed) => {
  expect(failureOf(await play(attacherPlanFor(seed)))).toBeNull();
});

// A person removed a whole fence that had freed the disks, and the attacher was down. So the attachments stayed, and
// the status of the Node still named the disks. The machine was started, and then EC2 did not know it for a moment.
test('a disk whose attachment is being deleted is no witness (seed 1400000250)', async () => {
  expect(failureOf(await play(secondNodePlanFor(1_400_000_250)))).toBeNull();
});

// A person removed the label of a fence, and the cloud did not know the machine. A pod that tolerates the taint kept
// its volumes.
test('our taint does not stay because of a volume that no fence frees (seed 1500038835)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_500_038_835)))).toBeNull();
});

// A person ended the fence of an earlier boot while the machine was suspended, and that command died. Then the machine
// resumed.
test('later runs end the release of a machine that was suspended (seed 1500061348)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_500_061_348)))).toBeNull();
});

// A machine was started and stopped again during its fence, and nothing was left to free. Its entry in the ledger
// stayed open.
test.each([1_510_008_980, 1_510_019_146])(
  'a fence that moves to a later boot ends in the ledger (seed %i)',
  async (seed) => {
    expect(failureOf(await play(takenOverPlanFor(seed)))).toBeNull();
  },
);

// A kubelet wrote an earlier time of the removal of our taint into the record.
test('the end of a quarantine may depend on what a kubelet writes (seed 1500102440)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_500_102_440)))).toBeNull();
});

// In order: another machine took over a Node with a pod that tolerates our taint, the cloud rejected a power-off, a
// person removed a quarantine of which only the label was left, while the machine was stopping, a machine with such a
// label was stopped before a run saw its Node Ready, another machine took over a name while its fence was ending,
// a kubelet let a disk go while it was mounting it, the last renewal of a Lease arrived right before a mark, twice, and
// a parked machine was started and terminated while its cluster did not answer.
test.each([
  1_510_027_210, 1_520_008_787, 1_530_051_098, 1_600_098_993, 1_700_105_149, 1_800_097_855, 1_900_112_025,
  1_900_322_894, 2_700_121_446,
])('a check knows what may be left (seed %i)', async (seed) => {
  expect(failureOf(await play(takenOverPlanFor(seed)))).toBeNull();
});

// In order: a machine was started and stopped again during its fence, a machine was deleted soon after its return, a
// mark was written just before a person's command began to look, a pod came to a machine that its cloud had forgotten
// while the attacher was down, a person ended a fence while the cloud did not know the machine, which was stopping,
// several parts of a mark were removed, so that nothing named our taint any more, and the reads of a person's command
// failed until a mark was written.
test.each([1_020_000_590, 1_020_021_978, 1_020_032_756, 1_040_007_376, 1_100_017_160, 1_100_164_878, 1_100_191_888])(
  'a check does not ask for more than a run can know (seed %i)',
  async (seed) => {
    expect(failureOf(await play(attacherPlanFor(seed)))).toBeNull();
  },
);

// A machine that was starting showed `stopped` in two reads, because the second answer was stale.
test('two reads of a machine that is starting do not count as a proof (seed 1600089290)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_600_089_290)))).toBeNull();
});

// The answer about a machine was stale, and its OS disk already showed the start. So the fence had the generation of
// the boot that had just begun, and was taken for a fence of that boot when it ended.
test('a fence does not get the generation of the boot that begins (seed 1600105296)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_600_105_296)))).toBeNull();
});

// A person removed a fence, another run began the next one, and a kubelet removed the record of that one. Then a run
// that remembered the first fence wrote its tombstone.
test('a tombstone does not replace the label of a later fence (seed 1800062985)', async () => {
  expect(failureOf(await play(takenOverPlanFor(1_800_062_985)))).toBeNull();
});

// The cloud did not answer, and another fence began before a person's command had read the Node. The command ended that
// fence.
test.each([2_000_193_691, 2_000_474_256])(
  'a person’s statement is about the fence that stands when the command begins (seed %i)',
  async (seed) => {
    expect(failureOf(await play(takenOverPlanFor(seed)))).toBeNull();
  },
);

// Another machine joined under the name of a machine that was gone, and was stopped before its kubelet had looked at
// the pods that are bound to that name.
test('a pod that tolerates our taint stays on the next machine of its Node name (seed 2000411506)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_000_411_506)))).toBeNull();
});

// A run read a Node without a fence. Another run fenced the Node, a kubelet removed the record, and a person removed
// our taint and the label of the fence. Then the mark of the first run took effect.
test('a mark does not replace a fence that a person has just removed (seed 2300051072)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_300_051_072)))).toBeNull();
});

// A person ended a fence on Azure. The answer about the machine was stale, and its OS disk already showed the start. So
// the record named the boot that had ended on the Node, and the one that had just begun in the cloud.
test('the fence that a person ends does not get the generation of the boot that begins (seed 2400551800)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_400_551_800)))).toBeNull();
});

// A run fenced a machine that the cloud did not know, and a person removed that fence at once. The mark of another run
// came after that, when Kubernetes had begun to detach all disks. So its record named no disk that could be asked.
test('our taint does not stay if no disk was attached any more at the mark (seed 2600142387)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_600_142_387)))).toBeNull();
});

// A person removed the quarantine of a fence of an earlier boot, just before the mark of the next one took effect.
test('a mark does not keep a quarantine that a person has just removed (seed 2700172799)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_700_172_799)))).toBeNull();
});

// A machine was started and stopped again, so its Node was parked for the second stop without a delay, because nothing
// was left to free. A person bound a pod to it at once.
test('the delay of the policy applies to a pod that comes to a parked Node (seed 2800724468)', async () => {
  expect(failureOf(await play(takenOverPlanFor(2_800_724_468)))).toBeNull();
});

// A survey left out a silent Node with a fence. Then a run wrote that a person had removed a part of that fence.
test('a fence that ends after a survey does not prevent a power-off (seed 3200140916)', async () => {
  expect(failureOf(await play(takenOverPlanFor(3_200_140_916)))).toBeNull();
});

// A machine of Google Cloud was deleted with its Node, and another one was created under its name and joined. Two
// disks of the former were free, and their attachments named the same id. Then the cloud falsely said "not found".
test('the attachments of a former machine do not show that the next one is gone (seed 3300074898)', async () => {
  expect(failureOf(await play(takenOverPlanFor(3_300_074_898)))).toBeNull();
});

// Everything on the Node of a machine that was started and stopped again was free, and a person had removed its
// quarantine. So a mark moved the fence to the second stop, and nothing else.
test('a mark that only moves the quarantine to the present boot needs no place (seed 3400175390)', async () => {
  expect(failureOf(await play(takenOverPlanFor(3_400_175_390)))).toBeNull();
});

// A person removed the quarantine of a fence, and a kubelet changed its record. Then the machine was terminated in the
// next boot.
test('a tombstone and a changed record of an earlier boot do not count as a fence (seed 3400314093)', async () => {
  expect(failureOf(await play(takenOverPlanFor(3_400_314_093)))).toBeNull();
});

// A person removed our taint, the machine was started and stopped again before its kubelet posted, and the cloud then
// falsely did not know the machine. The tombstone named no boot of the cloud, so it also applied to the second stop.
test('a removal applies to the boot of the record if the cloud does not name one (seed 3700002266)', async () => {
  expect(failureOf(await play(takenOverPlanFor(3_700_002_266)))).toBeNull();
});
