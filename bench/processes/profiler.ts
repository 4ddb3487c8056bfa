import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

type Kind = 'cpu' | 'heap';

/** Between two samples. V8's default of 1000 would miss most functions of a request. */
const SAMPLING_MICROS = 200;
const session = new Session();

/** Begins a profile of this process: of CPU time, or of what is allocated. */
export async function startProfile(kind: Kind): Promise<void> {
  session.connect();
  if (kind === 'heap') {
    const includeObjects = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await session.post('HeapProfiler.startSampling', includeObjects);
    return;
  }
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });
  await session.post('Profiler.start');
}

/** Ends the profile and writes it to a file. */
export async function stopProfile({ kind, file }: { kind: Kind; file: string }): Promise<void> {
  const { profile } =
    kind === 'cpu' ? await session.post('Profiler.stop') : await session.post('HeapProfiler.stopSampling');
  writeFileSync(file, JSON.stringify(profile));
  session.disconnect();
}
