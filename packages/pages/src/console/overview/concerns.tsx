import { Icon } from '../../kit/icons.tsx';
import { texts } from '../texts.ts';
import type { Concern, Overview } from './types.ts';

function ConcernItem({ level, message, href }: Concern) {
  const content = (
    <>
      <span class={`dot ${level === 'error' ? 'bad' : 'warn'}`}></span>
      <span class="visually-hidden">{level === 'error' ? texts.overview.error : texts.overview.warning} </span>
      <span class="text">{message}.</span>
    </>
  );
  if (href === null) return <li class="concern">{content}</li>;
  return (
    <li>
      <a class="concern" href={href}>
        {content}
        <Icon name="chevron" size={14} />
      </a>
    </li>
  );
}

/** What does not work, each as a sentence that leads to the page where one deals with it; otherwise, that everything works. */
export function Concerns({ concerns, unread }: Pick<Overview, 'concerns' | 'unread'>) {
  if (concerns.length === 0 && unread.length === 0)
    return (
      <p class="card everything-works" role="status">
        <span class="mark">
          <Icon name="check" size={14} />
        </span>
        {texts.overview.everythingWorks}
      </p>
    );
  const errors = concerns.filter(({ level }) => level === 'error').length;
  return (
    <section class={`card concerns ${errors > 0 ? 'bad' : 'warn'}`} aria-labelledby="concerns-title">
      <h2 id="concerns-title">
        <span class="mark" aria-hidden="true">
          !
        </span>
        {texts.overview.needsAttention}
      </h2>
      <ul>
        {concerns.map((concern) => (
          <ConcernItem key={concern.message} {...concern} />
        ))}
        {unread.map((label) => (
          <ConcernItem key={label} level="warning" message={texts.overview.couldNotBeRead(label)} href={null} />
        ))}
      </ul>
    </section>
  );
}
