import { DrawnIcon } from '../../kit/icons.tsx';
import type { ResourceInfo } from '../data/app-info.ts';

/** The icon of a resource. It is decorative: the name of the resource is beside it. */
export function ResourceIcon({ resource, size = 16 }: { resource: ResourceInfo; size?: number }) {
  return <DrawnIcon path={resource.icon} size={size} kind="thin" />;
}
