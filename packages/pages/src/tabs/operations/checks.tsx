import { ActionButton, type Load, Loaded, Section, Status, Time } from '../../console/kit.ts';
import type { Checks, Finding } from './types.ts';

const LEVELS = {
  error: { kind: 'bad', name: 'Error' },
  warning: { kind: 'warn', name: 'Warning' },
  ok: { kind: 'good', name: 'OK' },
} as const;
/** The worst first. */
const ORDER = Object.keys(LEVELS);

/** How serious a finding is. */
export function LevelBadge({ level }: { level: keyof typeof LEVELS }) {
  const { kind, name } = LEVELS[level];
  return <Status kind={kind}>{name}</Status>;
}

function FindingRow({ level, message, fix }: Finding) {
  return (
    <li>
      <LevelBadge level={level} />
      <span>
        {message}.{fix && <span class="soft operations-fix">To fix it, {fix}.</span>}
      </span>
    </li>
  );
}

/** The findings of `belfry doctor`. */
export function ChecksSection({ checks }: { checks: Load<Checks> }) {
  return (
    <Section
      title="Checks"
      actions={
        <>
          {checks.data && (
            <span class="soft">
              Checked <Time value={checks.data.at} />
            </span>
          )}
          <ActionButton run={checks.reload}>Check again</ActionButton>
        </>
      }
    >
      <Loaded from={checks}>
        {({ findings }) => (
          <ul class="operations-findings">
            {findings
              .toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level))
              .map((finding) => (
                <FindingRow key={finding.message} {...finding} />
              ))}
          </ul>
        )}
      </Loaded>
      <p class="soft operations-note">
        The checks of <code>npx belfry doctor</code>, run by this process: at most every 30 seconds.
      </p>
    </Section>
  );
}
