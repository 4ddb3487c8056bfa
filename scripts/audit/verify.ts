import type { AuditApi } from '../../src/extensions/audit/index.ts';
import type { AuditArguments } from './arguments.ts';
import { isSound, verificationLines } from './report.ts';

const LINE_MS = 5000;

/**
 * Walks the chain of the audit trail and prints what it finds.
 *
 * @returns whether nothing is wrong with it
 */
export async function verify(audit: AuditApi, { expected, json }: AuditArguments): Promise<boolean> {
  let said = performance.now();
  const onProgress = (rows: number) => {
    if (json || performance.now() - said < LINE_MS) return;
    said = performance.now();
    console.log(`${rows.toLocaleString('en-US')} rows …`);
  };
  const found = await audit.verify({ expected, onProgress });
  console.log(json ? JSON.stringify(found) : verificationLines(found).join('\n'));
  return isSound(found);
}
