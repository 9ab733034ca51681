// Package kubernetes has the test of packaging/kubernetes: each kustomization builds, and
// each object in it has the fields of its kind and no others.
package kubernetes

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const root = "../../packaging/kubernetes"

// kinds are those that are used.
var kinds = map[string]func() any{
	"v1 ConfigMap":                       func() any { return new(corev1.ConfigMap) },
	"v1 Service":                         func() any { return new(corev1.Service) },
	"apps/v1 StatefulSet":                func() any { return new(appsv1.StatefulSet) },
	"batch/v1 Job":                       func() any { return new(batchv1.Job) },
	"networking.k8s.io/v1 Ingress":       func() any { return new(networkingv1.Ingress) },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },
}

func TestKustomizations(t *testing.T) {
	dirs, err := filepath.Glob(root + "/*/kustomization.yaml")
	require.NoError(t, err)
	require.Len(t, dirs, 4)
	for _, path := range dirs {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Dir(path))
			require.NoError(t, err)
			require.NotEmpty(t, built.Resources())
			for _, r := range built.Resources() {
				text, err := r.AsYAML()
				require.NoError(t, err)
				kind := r.GetApiVersion() + " " + r.GetKind()
				require.Contains(t, kinds, kind)
				object := kinds[kind]()
				require.NoError(t, yaml.UnmarshalStrict(text, object), string(text))
				checkPods(t, object)
			}
		})
	}
}

// checkPods: no container runs as root, gains rights or is without bounds, and each of its mounts is of a
// volume that is there. None lies in another one: the directories between them would be root's, and the
// container's user could not write there (droid into ~/.factory).
func checkPods(t *testing.T, object any) {
	var pod corev1.PodSpec
	var claims []corev1.PersistentVolumeClaim
	switch o := object.(type) {
	case *batchv1.Job:
		pod = o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		pod, claims = o.Spec.Template.Spec, o.Spec.VolumeClaimTemplates
		require.Equal(t, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		require.Equal(t, true, pod.ShareProcessNamespace != nil && *pod.ShareProcessNamespace, "serve is process 1, and the orphans of commands stay as zombies")
	default:
		return
	}
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.False(t, *pod.AutomountServiceAccountToken)
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range claims {
		volumes[c.Name] = true
	}
	used := map[string]bool{}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
		require.False(t, c.Resources.Limits.Memory().IsZero(), c.Name)
		for _, m := range c.VolumeMounts {
			require.Contains(t, volumes, m.Name)
			used[m.Name] = true
			for _, other := range c.VolumeMounts {
				require.False(t, strings.HasPrefix(m.MountPath, other.MountPath+"/"), "%s lies in %s", m.MountPath, other.MountPath)
			}
		}
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && slices.Contains(pod.Containers[0].Args, "--token-file") {
			require.NotContains(t, pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/token", ReadOnly: true},
				"files of a secret are root's, and serve takes a token from a file of its own user alone")
		}
	}
	require.Equal(t, volumes, used, "a volume that nothing mounts")
}
