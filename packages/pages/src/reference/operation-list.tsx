import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../kit/icons.tsx';
import { numberText } from '../kit/numbers.ts';
import { matchesSearch, needsSignIn, type Operation, type OperationGroup } from './operations.ts';
import { Method } from './parts.tsx';
import { hrefOf, type Reference, type Site, searchText } from './reference.ts';
import { useSearchKey } from './search-key.ts';
import { texts } from './texts.ts';

/** Up to this number of operations, all groups are open at first. */
const OPEN_UP_TO = 24;

function OperationLink({ operation, isCurrent, site }: { operation: Operation; isCurrent: boolean; site: Site }) {
  const { id, method, path, summary, isDeprecated } = operation;
  return (
    <a
      href={hrefOf(site, id)}
      aria-current={isCurrent ? 'page' : undefined}
      title={needsSignIn(operation) ? texts.list.needsSignIn(`${method} ${path}`) : `${method} ${path}`}
    >
      <Method method={method} />
      <span class={isDeprecated ? 'reference-deprecated' : ''}>{summary}</span>
      {needsSignIn(operation) && <Icon name="lock" size={12} />}
    </a>
  );
}

function Group({
  group: { tag, operations },
  current,
  isOpenFirst,
  site,
}: {
  group: OperationGroup;
  current: string | undefined;
  isOpenFirst: boolean;
  site: Site;
}) {
  const hasCurrent = operations.some(({ id }) => id === current);
  const [isOpen, setOpen] = useState(isOpenFirst || hasCurrent);
  useEffect(() => {
    if (hasCurrent || isOpenFirst) setOpen(true);
  }, [hasCurrent, isOpenFirst]);
  return (
    <details class="reference-tag" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {tag}
        <span class="soft">{operations.length}</span>
      </summary>
      {isOpen && (
        <ul>
          {operations.map((operation) => (
            <li key={operation.id}>
              <OperationLink operation={operation} isCurrent={operation.id === current} site={site} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** The search, and all operations in groups. */
export function OperationList({
  reference: { groups, operations, site },
  current,
}: {
  reference: Reference;
  /** The id of the operation that is shown. */
  current: string | undefined;
}) {
  const text = searchText(site);
  const input = useRef<HTMLInputElement>(null);
  useSearchKey(input);
  const found = groups
    .map((group) => ({
      tag: group.tag,
      operations: text === '' ? group.operations : group.operations.filter((one) => matchesSearch(one, text)),
    }))
    .filter((group) => group.operations.length > 0);
  const count = found.reduce((sum, group) => sum + group.operations.length, 0);
  const all = numberText(operations.length);
  return (
    <nav class="reference-list" aria-label={texts.list.label}>
      <input
        type="search"
        ref={input}
        aria-label={texts.list.search}
        placeholder={`${texts.list.search}   /`}
        value={text}
        onInput={(event) => site.search(event.currentTarget.value)}
      />
      <p class="soft reference-count" role="status">
        {text === '' ? texts.list.count(operations.length, all) : texts.list.found(numberText(count), all)}
      </p>
      <div class="reference-tags">
        {found.map((group) => (
          <Group
            key={group.tag}
            group={group}
            current={current}
            isOpenFirst={text !== '' || operations.length <= OPEN_UP_TO}
            site={site}
          />
        ))}
      </div>
      {count === 0 && <p class="soft">{texts.list.noMatch}</p>}
    </nav>
  );
}
