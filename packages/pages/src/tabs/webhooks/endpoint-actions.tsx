import { ActionButton, call, navigate } from '../../console/kit.ts';
import type { Delivery, Endpoint, NewSecret } from './responses.ts';
import { showSecret } from './secret.tsx';
import { HOME } from './states.tsx';

/** The reasons for which only the owner can enable an endpoint again. */
const ONLY_OWNER: readonly (string | null)[] = ['password_reset', 'key_ended'];

const DISABLE = {
  title: 'Disable this endpoint?',
  text: 'Nothing is sent to it until it is enabled again. Deliveries wait.',
  action: 'Disable',
};
const ROTATE = {
  title: 'Replace the secret?',
  text: 'The new secret is shown once. For a grace period, messages are signed with both.',
  action: 'Replace',
};
const DELETE = {
  title: 'Delete this endpoint?',
  text: 'Its deliveries are deleted, too. This cannot be undone.',
  action: 'Delete',
  isDangerous: true,
};

interface ActionsProps {
  endpoint: Endpoint;
  /** Of the endpoint, below `/console/api`. */
  path: string;
  onChanged: () => Promise<void>;
}

function EnabledButton({ endpoint, path, onChanged }: ActionsProps) {
  const { enabled, disabledReason, isOwnerActive } = endpoint;
  const toggle = async () => {
    await call(path, { method: 'PATCH', body: { enabled: !enabled } });
    await onChanged();
  };
  return enabled ? (
    <ActionButton run={toggle} done="Disabled" disabled={!isOwnerActive} confirm={DISABLE}>
      Disable
    </ActionButton>
  ) : (
    <ActionButton run={toggle} done="Enabled" disabled={!isOwnerActive || ONLY_OWNER.includes(disabledReason)}>
      Enable
    </ActionButton>
  );
}

/** What an administrator can do with an endpoint. */
export function EndpointActions({
  onTested,
  ...props
}: ActionsProps & { onTested: (delivery: Delivery) => Promise<void> }) {
  const { endpoint, path, onChanged } = props;
  const { id, enabled, isOwnerActive } = endpoint;
  const test = async () => onTested((await call<Delivery>(`${path}/test`, { method: 'POST' })).data);
  const rotate = async () => {
    const { data } = await call<NewSecret>(`${path}/rotate-secret`, { method: 'POST', body: {} });
    await showSecret(data);
    await onChanged();
  };
  const remove = async () => {
    await call(path, { method: 'DELETE' });
    navigate(`${HOME}/endpoints`);
  };
  return (
    <>
      <ActionButton kind="primary" run={test} disabled={!enabled || !isOwnerActive}>
        Send a test
      </ActionButton>
      <a class="button" href={`${HOME}/endpoints/${id}/edit`}>
        Edit
      </a>
      <EnabledButton {...props} />
      <ActionButton run={rotate} disabled={!isOwnerActive} confirm={ROTATE}>
        Rotate secret
      </ActionButton>
      <ActionButton kind="danger quiet" run={remove} done="Deleted" confirm={DELETE}>
        Delete
      </ActionButton>
    </>
  );
}
