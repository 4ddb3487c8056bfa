import type { AuditApi } from '../../src/extensions/audit/index.ts';
import type { AuditArguments } from './arguments.ts';
import { isSound, verificationLines } from './report.ts';

const LINE_MS = 5000;

/**
 * Verifies the chain of the audit trail and prints the result.
 *
 * @returns whether the chain is unbroken and protected
 */
export async function verify(audit: AuditApi, { expected, json }: AuditArguments): Promise<boolean> {
  let printedAt = performance.now();
  const onProgress = (rows: number) => {
    if (json || performance.now() - printedAt < LINE_MS) return;
    printedAt = performance.now();
    console.log(`${rows.toLocaleString('en-US')} rows …`);
  };
  const found = await audit.verify({ expected, onProgress });
  console.log(json ? JSON.stringify(found) : verificationLines(found).join('\n'));
  return isSound(found);
}
