import ts from 'typescript5';

export type FunctionNode =
  | ts.FunctionDeclaration
  | ts.FunctionExpression
  | ts.ArrowFunction
  | ts.MethodDeclaration
  | ts.ConstructorDeclaration;

export const isFunctionNode = (node: ts.Node | undefined): node is FunctionNode =>
  node !== undefined &&
  (ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node));

/** Returns the expressions that a function can return. */
export function returnsOf(node: FunctionNode): ts.Expression[] {
  if (node.body === undefined) return [];
  if (!ts.isBlock(node.body)) return [node.body];
  const found: ts.Expression[] = [];
  const visit = (inside: ts.Node) => {
    if (ts.isReturnStatement(inside) && inside.expression) found.push(inside.expression);
    if (!isFunctionNode(inside)) inside.forEachChild(visit);
  };
  node.body.forEachChild(visit);
  return found;
}
