"""described.py -- is a report what its schema describes? For the checks of all tools, which add what must add up."""
import jsonschema


class Described:
    def __init__(self, schema):
        self.schema = schema
        self.wrong = []

    def complain(self, text):
        self.wrong.append(text)

    def equal(self, what, left, right):
        if left != right:
            self.complain('%s: %s, but %s' % (what, left, right))

    # ---- the schema ----

    def parts(self, node):
        """NODE and all that it refers to."""
        if '$ref' in node:
            yield from self.parts(self.schema['$defs'][node['$ref'].rsplit('/', 1)[1]])
        for part in node.get('allOf', []) + node.get('anyOf', []):
            yield from self.parts(part)
        yield node

    def described(self, node, value, where):
        """Every member of VALUE is in the schema, though readers must accept others."""
        if isinstance(value, dict):
            properties, others = {}, None
            for part in self.parts(node):
                properties.update(part.get('properties', {}))
                if isinstance(part.get('additionalProperties'), dict):
                    others = part['additionalProperties']
            for key, member in value.items():
                if key in properties:
                    self.described(properties[key], member, '%s.%s' % (where, key))
                elif others is not None:
                    self.described(others, member, '%s.%s' % (where, key))
                else:
                    self.complain('%s.%s is not in the schema' % (where, key))
        elif isinstance(value, list):
            items = [part['items'] for part in self.parts(node) if 'items' in part]
            for i, member in enumerate(value):
                self.described(items[0], member, '%s[%d]' % (where, i))

    def valid(self, report):
        for error in jsonschema.Draft202012Validator(self.schema).iter_errors(report):
            self.complain('%s: %s' % ('.'.join(map(str, error.absolute_path)), error.message[:200]))
        self.described(self.schema, report, 'report')
