import { ActionButton, type Load, Loaded, Section, Status, Time } from '../../console/kit.ts';
import { Marked } from './format.tsx';
import { texts } from './texts.ts';
import type { Checks, Finding } from './types.ts';

const { checks: words } = texts;

const KINDS = { error: 'bad', warning: 'warn', ok: 'good' } as const;
/** The worst first. */
const ORDER = Object.keys(KINDS);

/** How serious a finding is. */
export function LevelBadge({ level }: { level: keyof typeof KINDS }) {
  return <Status kind={KINDS[level]}>{words.levels[level]}</Status>;
}

function FindingRow({ level, message, fix }: Finding) {
  return (
    <li>
      <LevelBadge level={level} />
      <span>
        {message}.{fix && <span class="soft operations-fix">{words.fix(fix)}</span>}
      </span>
    </li>
  );
}

/** The findings of `belfry doctor`. */
export function ChecksSection({ checks }: { checks: Load<Checks> }) {
  return (
    <Section
      title={words.title}
      actions={
        <>
          {checks.data && (
            <span class="soft">
              {words.checked} <Time value={checks.data.at} />
            </span>
          )}
          <ActionButton run={checks.reload}>{words.again}</ActionButton>
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
        <Marked text={words.note} />
      </p>
    </Section>
  );
}
